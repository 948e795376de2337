"""Prints the commands of a README section: those of the code block below `<!-- command: NAME -->`.

So CI runs what the README says, word for word.
"""

import re
import sys
from pathlib import Path


def command(name: str) -> str:
    """The commands of a section, as they stand there."""
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- command: {name} -->\n```bash\n(.*?)```", readme, re.DOTALL)
    if found is None:
        raise SystemExit(f"README.md has no command {name}")
    return found.group(1)


if __name__ == "__main__":
    print(command(sys.argv[1]), end="")
