from svmreduce.printable import listed, one_line, printable


def test_no_text_steers_a_terminal():
    hostile = "a\x1b[31mred\x07 \x9b2J \u202egpj.exe \udcff\r\x00"
    assert not set(printable(hostile)) & set("\x1b\x07\x9b\u202e\udcff\r\x00")
    assert printable("plain ä ✓\n\ttext") == "plain ä ✓\n\ttext"
    assert one_line("two\nlines\x1b") == "two lines\ufffd"


def test_a_listed_word_with_a_comma_is_in_quotes():
    assert listed(["a", "b, c", 'd"'], most=2) == 'a, "b, c" and 1 more'
