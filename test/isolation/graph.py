"""Directed graphs with labelled edges: strongly connected components and short cycles, both in time linear in nodes and edges."""
import collections


class Graph:
    """Nodes are numbers below `size`; an edge has one label."""

    def __init__(self, size):
        self.out = [[] for _ in range(size)]

    def node(self):
        self.out.append([])
        return len(self.out) - 1

    def edge(self, a, b, label):
        if a != b:
            self.out[a].append((b, label))

    def components(self, labels=None, within=None):
        """Components of more than one node, by Tarjan's algorithm without recursion. Only edges with these labels count, and only nodes of `within`."""
        out, found, order = self.out, [], {}
        low, stack, on_stack = {}, [], set()
        for root in range(len(out)) if within is None else within:
            if root in order:
                continue
            order[root] = low[root] = len(order)
            stack.append(root)
            on_stack.add(root)
            work = [(root, iter(out[root]))]
            while work:
                node, edges = work[-1]
                for to, label in edges:
                    if (labels is not None and label not in labels) or (within is not None and to not in within):
                        continue
                    if to not in order:
                        order[to] = low[to] = len(order)
                        stack.append(to)
                        on_stack.add(to)
                        work.append((to, iter(out[to])))
                        break
                    if to in on_stack and order[to] < low[node]:
                        low[node] = order[to]
                else:
                    work.pop()
                    if work and low[node] < low[work[-1][0]]:
                        low[work[-1][0]] = low[node]
                    if low[node] == order[node]:
                        members = set()
                        while node not in members:
                            top = stack.pop()
                            on_stack.discard(top)
                            members.add(top)
                        if len(members) > 1:
                            found.append(members)
        return found

    def path(self, start, goal, labels, within):
        """The shortest path as [(from, label, to)], or None."""
        came, queue = {start: None}, collections.deque([start])
        while queue:
            node = queue.popleft()
            for to, label in self.out[node]:
                if label in labels and to in within and to not in came:
                    came[to] = (node, label)
                    if to == goal:
                        steps = []
                        while to != start:
                            before, label = came[to]
                            steps.append((before, label, to))
                            to = before
                        return steps[::-1]
                    queue.append(to)
        return None

    def edges_of(self, members, labels):
        return [(a, label, b) for a in sorted(members) for b, label in self.out[a] if b in members and label in labels]

    def cycle(self, members, first, rest, tries=200):
        """A short cycle in `members` that begins with an edge labelled `first` and goes on with edges of `rest`, or None. So many first edges are
        tried, spread over all, since a component may have any number of them."""
        edges, best = self.edges_of(members, first), None
        step = max(1, len(edges) // tries)
        for a, label, b in edges[::step]:
            back = self.path(b, a, rest, members)
            if back is not None and (best is None or len(back) + 1 < len(best)):
                best = [(a, label, b), *back]
                if len(best) == 2:
                    break
        return best


def before_edges(operations):
    """Of operations [(invoked, completed or None, name)]: pairs (a, b) where a had completed when b was invoked, without those that follow from
    others. Each has at most as many predecessors as operations run at a time."""
    events = []
    for i, (invoked, completed, _) in enumerate(operations):
        events.append((invoked, 1, i))
        if completed is not None:
            events.append((completed, 0, i))
    events.sort()
    front, before = set(), {}
    for _, begins, i in events:
        if begins:
            before[i] = frozenset(front)
            for a in front:
                yield operations[a][2], operations[i][2]
        else:
            front -= before[i]
            front.add(i)
