"""How a result is shown. Every format renders the same findings and decides nothing."""
