"""``python -m portarray``: the command, where its script is not on the path."""

from portarray._cli import main

if __name__ == "__main__":
    main()
