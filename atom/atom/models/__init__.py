"""Model classes, by architecture."""
