"""Finds what an isolation level forbids in a history, in the manner of Jepsen's Elle (Kingsbury and Alvaro, 2020), by the names of Adya.

The order of versions follows from the reads (versions.py). Dependencies between transactions are ww (b wrote the version behind that of a),
wr (b read what a wrote) and rw (b wrote the version behind the one that a read). An anomaly is a cycle of them.

The documented level is stronger than read committed: all changes of a transaction take effect in one instant, its commit, and each statement
sees the state of one instant that lies between its request and its answer. So there is a second graph, in which a commit is a node and so is each
statement that reads, with their order in the transaction, in the session, and in time. It must have no cycle. What the graph of transactions
may have, and the level allows, is counted.

A read through a materialized view sees its base table at some instant before its answer, however early, so nothing that went before in time or in
its session is an edge to it. Two orders hold for it: a view does not go back, and it has what was committed before a refresh that had ended.
"""
import collections

from graph import Graph
from history import CLEAR, DROP, REFRESH, VIEW
from presence import look_for_names
from versions import Versions

# name: what it is. These are forbidden for every interface.
FORBIDDEN = {
    "G0": "dirty write: two transactions wrote between each other",
    "G1a": "aborted read: what was rolled back was read",
    "G1b": "intermediate read: a version was read that its transaction wrote over before it committed",
    "G1c": "circular information flow: transactions depend on each other by ww and wr",
    "lost-update": "two UPDATE statements began with the same version, and both committed",
    "lost-write": "a write that was acknowledged is missing in a later read",
    "duplicate": "a write took effect twice",
    "unknown-value": "a value was read that nobody wrote",
    "incompatible-order": "two reads of a list contradict each other",
    "cyclic-versions": "a register went back to an older value",
    "own-writes": "a transaction did not read what it had written itself",
    "fractured-read": "a statement saw a part of a transaction",
    "long-fork": "two statements saw two commits in different orders",
    "G-monotonic": "a statement of a transaction saw less than one before it",
    "read-your-writes": "a session did not see what it had committed",
    "monotonic-reads": "a session saw less than before",
    "monotonic-writes": "the writes of a session took effect in another order",
    "writes-follow-reads": "a write took effect before a version that its session had read",
    "stale-read": "a statement did not see what was committed before it began",
    "real-time-order": "a transaction took effect before one that had ended when it began",
    "changed-copy": "what a statement copied of other tables was read with two contents",
    "torn-view": "a view showed what its base table never was",
    "view-back": "a view went back to an older state",
    "view-behind": "a view had not what was committed before its refresh",
    "torn-clear": "a statement saw a part of what TRUNCATE or DROP took, and missed another",
    "resurrected": "rows that TRUNCATE or DROP had taken were read again",
    "missing-name": "a table or column was missing that nobody had dropped or renamed",
    "ghost-name": "a statement found a table or column that was not there",
}
# These are what read committed allows between the statements of one transaction.
ALLOWED = {
    "G-single": "read skew: a cycle with one rw (one component of the graph each)",
    "G2-item": "write skew: a cycle with several rw (one component of the graph each)",
    "P4": "lost update by SELECT and a later write of the same register",
}

DEPENDENCIES = ("ww", "wr", "rw")
LEVELS = [(*DEPENDENCIES, *more) for more in ((), ("view",), ("view", "po"), ("view", "po", "session"), ("view", "po", "session", "rt"))]


class Checker:
    def __init__(self, history):
        self.history, self.counts, self.texts = history, collections.Counter(), collections.defaultdict(list)
        for number, t in enumerate(history):
            t.number = number
        self.versions = Versions(history, self.found)
        self.committed = self.versions.committed
        self.transactions()
        self.statements()
        self.lost_by_select()
        look_for_names(history, self.versions.final, self.found)

    def found(self, name, text):
        if name not in FORBIDDEN and name not in ALLOWED:
            raise KeyError(name)
        self.counts[name] += 1
        if len(self.texts[name]) < 3:
            self.texts[name].append(text)

    def forbidden(self):
        return {name: n for name, n in self.counts.items() if name in FORBIDDEN}

    # ----------------------------------------------------- whole transactions
    def transactions(self):
        graph = Graph(len(self.history))
        for a, b in self.versions.pairs():
            graph.edge(a, b, "ww")
        for r, wrote, following in self.versions.reads_to():
            if r.txn.number not in self.committed:
                continue
            if wrote is not None:
                graph.edge(wrote, r.txn.number, "wr")
            for b in following if r.statement.kind != VIEW else ():
                graph.edge(r.txn.number, b, "rw")
        say = lambda name, cycle: self.found(name, self.told(cycle, lambda n: n))
        dirty = graph.components({"ww"})
        for members in dirty:
            say("G0", graph.cycle(members, {"ww"}, {"ww"}))
        for members in graph.components({"ww", "wr"}):
            cycle = graph.cycle(members, {"wr"}, {"ww", "wr"})
            if cycle is not None:
                say("G1c", cycle)
        self.count_allowed(graph, say)

    @staticmethod
    def count_allowed(graph, say):
        for members in graph.components():
            one = graph.cycle(members, {"rw"}, {"ww", "wr"}, 20)
            more = None if one is not None else graph.cycle(members, {"rw"}, set(DEPENDENCIES), 20)
            if one is not None:
                say("G-single", one)
            elif more is not None:
                say("G2-item", more)

    def lost_by_select(self):
        """Two transactions read the same version of a register, and both wrote it."""
        bases = collections.defaultdict(set)
        for key, reads in self.versions.reads.items():
            for r in reads if key[0] == "register" else ():
                if r.txn.number in self.committed and r.statement.kind != VIEW and key in self.versions.final[r.txn.number]:
                    bases[key, r.value].add(r.txn.number)
        for (key, value), numbers in bases.items():
            if len(numbers) > 1:
                self.found("P4", f"{sorted(numbers)} read {key} = {value} and wrote it")

    # ---------------------------------------------------------- single statements
    def statements(self):
        """The graph of commits and of statements that read. Its nodes are (transaction, invoked, completed, is the commit)."""
        self.nodes, self.commit_of, self.read_of = [], {}, {}
        self.views, self.refreshes, self.clears = {}, {}, set()  # nodes: of reads through which view, of refreshes of which, of commits that clear
        graph = Graph(0)
        sees = {id(r.statement) for reads in self.versions.reads.values() for r in reads}
        sessions, last = collections.defaultdict(list), {}
        for t in self.history:
            sessions[t.process].append(t)
        for process, transactions in sessions.items():
            for t in sorted(transactions, key=lambda t: t.statements[0].invoked if t.statements else t.commit_invoked):
                self.nodes_of(graph, t, sees, process, last)
        for a, b in self.versions.pairs():
            if a in self.commit_of and b in self.commit_of:
                graph.edge(self.commit_of[a], self.commit_of[b], "ww")
        for r, wrote, following in self.versions.reads_to():
            node = self.read_of[id(r.statement)]
            if wrote in self.commit_of:
                graph.edge(self.commit_of[wrote], node, "wr")
            for b in following:
                if b in self.commit_of:
                    graph.edge(node, self.commit_of[b], "rw")
        self.add_time(graph, [i for i in range(len(self.nodes)) if i not in self.views], list(self.views), "rt")
        for view in set(self.views.values()):
            self.add_time(graph, [i for i, of in (*self.views.items(), *self.refreshes.items()) if of == view], (), "view")
        for members in graph.components():
            self.explain(graph, members)

    def nodes_of(self, graph, t, sees, process, last):
        before, label = last.get(process), "session"
        for s in t.statements:
            if s.kind == REFRESH and s.completed is not None:
                node = self.add(graph, (t, s.invoked, s.completed, False))
                self.refreshes[node] = s.of[0][0]
                before, label = self.chain(graph, before, node, label)
            elif id(s) in sees:
                self.read_of[id(s)] = node = self.add(graph, (t, s.invoked, s.completed, False))
                if s.kind == VIEW:
                    self.views[node] = s.of[0][0]
                else:
                    before, label = self.chain(graph, before, node, label)
        clears = any(s.kind in (CLEAR, DROP) for s in t.statements)
        if t.number in self.committed and (clears or self.versions.final[t.number]):
            self.commit_of[t.number] = node = self.add(graph, (t, t.commit_invoked, t.commit_completed, True))
            before, label = self.chain(graph, before, node, label)
            if clears:
                self.clears.add(node)
        if before is not None:
            last[process] = before

    def add(self, graph, node):
        self.nodes.append(node)
        return graph.node()

    @staticmethod
    def chain(graph, before, node, label):
        if before is not None:
            graph.edge(before, node, label)
        return node, "po"

    def add_time(self, graph, nodes, only_end, name):
        """One more node for each instant at which something was over: a line that all of `nodes` that began later hang on. So there are few edges.
        Of `only_end` no begin is looked at."""
        events = [(self.nodes[i][1], 1, i) for i in nodes]
        events += [(self.nodes[i][2], 0, i) for i in (*nodes, *only_end) if self.nodes[i][2] is not None]
        now = None
        for _, begins, i in sorted(events):
            if begins and now is not None:
                graph.edge(now, i, name)
            elif not begins:
                instant = graph.node()
                graph.edge(i, instant, name)
                if now is not None:
                    graph.edge(now, instant, name)
                now = instant

    def explain(self, graph, members):
        """Names a component by the fewest kinds of edges that make a cycle in it."""
        for labels in LEVELS:
            knots = graph.components(labels, members)
            named = False
            for knot in knots:
                rest = set(labels) - {"rw"}
                cycle = graph.cycle(knot, {"rw"}, rest) or graph.cycle(knot, {"rw"}, set(labels)) or graph.cycle(knot, set(labels), set(labels))
                name = self.name_of(cycle)
                if name is not None:
                    self.found(name, self.told(cycle, lambda n: self.nodes[n][0].number if n < len(self.nodes) else None))
                named = True
            if named:
                return

    def name_of(self, cycle):
        labels, nodes = [label for _, label, _ in cycle], {a for a, _, _ in cycle}
        if "view" in labels:
            return "view-behind" if nodes & self.refreshes.keys() else "view-back"
        if nodes & self.views.keys():
            return "torn-view"
        if "rt" in labels:
            return "stale-read" if "rw" in labels else "real-time-order"
        if "session" in labels:
            a, _, b = next(step for step in cycle if step[1] == "session")
            after_commit = self.nodes[a][3]
            if "rw" in labels:
                return "read-your-writes" if after_commit else "monotonic-reads"
            return "monotonic-writes" if after_commit else "writes-follow-reads"
        if labels.count("rw") == 1:
            if "po" in labels:
                return "G-monotonic"
            return "torn-clear" if nodes & self.clears else "fractured-read"
        if "rw" in labels:
            return "long-fork"
        return "G1c" if "po" in labels else None  # the cycle of ww has its name from the graph of transactions

    def told(self, cycle, number):
        steps, names = [], []
        for a, label, b in cycle:
            if number(a) is not None:
                names.append(number(a))
                steps.append(f"T{number(a)} -{label}->")
        return " ".join(steps) + "".join(f"\n      {self.history[n]}" for n in dict.fromkeys(names))


def check(history):
    return Checker(history)
