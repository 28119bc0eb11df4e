"""Tables and verdicts made from stored records. Nothing here runs an experiment or writes into its folder."""
