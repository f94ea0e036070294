"""``python -m pt_multiaspect``."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
