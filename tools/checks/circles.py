"""tools/checks/circles.py: finds a circle in a graph of includes or imports."""


def circle_in(arrows: dict[str, set[str]]) -> list[str] | None:
    """The nodes of a circle, the first one again at the end; None without one."""
    done: set[str] = set()

    def walk(node: str, way: list[str]) -> list[str] | None:
        if node in way:
            return [*way[way.index(node) :], node]
        if node in done:
            return None
        for other in sorted(arrows.get(node, ())):
            found = walk(other, [*way, node])
            if found:
                return found
        done.add(node)
        return None

    for start in sorted(arrows):
        found = walk(start, [])
        if found:
            return found
    return None
