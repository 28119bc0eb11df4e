"""Formulas as MathML, which browsers draw by themselves: no script, no fonts from elsewhere."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def _write(writer, node):
    writer.body.append(tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block)))
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_write, None), (_write, None))
    return {"parallel_read_safe": True}
