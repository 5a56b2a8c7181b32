"""`python -m aworld` is the command `aworld`."""

from aworld.cli.main import main

if __name__ == "__main__":
    main()
