"""`python -m atomstack`, and the entry of the zipapp."""

from atomstack.cli import main

raise SystemExit(main())
