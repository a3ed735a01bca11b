"""What plugs into a serving framework; one subpackage per framework."""
