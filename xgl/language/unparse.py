"""Programs back to text: one spelling for each tree, such that ``parse(to_text(p)) == p``."""

from __future__ import annotations

import json
from typing import Any

from xgl.errors import check_kind
from xgl.language import syntax as syn


def to_text(program: syn.Program) -> str:
    """The program's lines joined by newlines, without a trailing one."""
    check_kind("program", program, syn.Program, "what xgl.parse returns, or a game's program")
    return "\n".join(instruction_text(line) for line in program.instructions)


def instruction_text(instruction: syn.Instruction) -> str:
    player = getattr(instruction, "player", syn.MAIN_PLAYER)
    arguments = [] if player == syn.MAIN_PLAYER else [player]
    match instruction:
        case syn.Assign(targets):
            arguments += [f"{name}={expression_text(value)}" for name, value in targets]
        case syn.Elicit(_, registers, max_len):
            arguments += [*registers, *([] if max_len is None else [str(max_len)])]
        case syn.Ensure(expressions) | syn.Reveal(_, expressions):
            arguments += map(expression_text, expressions)
        case syn.Reward(_, amount):
            arguments.append(expression_text(amount))
        case syn.Beacon(flag):
            arguments.append(flag)
        case syn.Replay(flag, times):
            arguments += [flag, str(times)]
    return f"{type(instruction).__name__.lower()}({', '.join(arguments)})"


def expression_text(node: Any) -> str:
    match node:
        case syn.Literal(value):
            return json.dumps(value, ensure_ascii=False)
        case syn.Register(name):
            return str(name)
        case syn.Cat(left, right) | syn.Chain(left, right):
            return f"{_operand(left, syn.Given)} + {_operand(right, _SUM_NODES)}"
        case syn.Cut(text, mark, side):
            operator = "//" if side == "before" else "%"
            return f"{_operand(text, _SUM_NODES)} {operator} {_operand(mark, _SUM_NODES | syn.Cut)}"
        case syn.Given(text, prefix):
            return f"{expression_text(text)} | {_operand(prefix, syn.Given)}"
        case syn.ListOf(items):
            return f"[{', '.join(map(expression_text, items))}]"
        case syn.Function(name, (first, *rest)) if syn.FUNCTIONS[name].method:
            own = _operand(first, syn.Cat | syn.Cut | syn.Given)
            return f"{own}.{name}({', '.join(map(expression_text, rest))})"
        case syn.Function(name, arguments):
            return f"{name}({', '.join(map(expression_text, arguments))})"
        case syn.Story(tokens, prompt):
            prompt_text = json.dumps(prompt, ensure_ascii=False) if prompt else ""
            return f"story({tokens if tokens else prompt_text})"
        case syn.Xent(kind, target, prefix, outer):
            prefix_text = "" if prefix is None else f" | {_operand(prefix, syn.Given)}"
            before = "" if outer is None else f", {expression_text(outer)}"
            return f"{kind}({expression_text(target)}{prefix_text}{before})"
        case syn.Sum(((head_sign, head), *others)):
            total = ("-" if head_sign < 0 else "") + expression_text(head)
            for sign, term in others:
                total += (" - " if sign < 0 else " + ") + expression_text(term)
            return total
        case syn.Number(value):
            return repr(value)
        case syn.Comparison(left, comparator, right) | syn.Test(left, comparator, right):
            return f"{expression_text(left)} {comparator} {expression_text(right)}"
        case syn.Truth(statement, (), True):
            return expression_text(statement)
        case syn.Truth():
            return _truth_call(node)
        case syn.Logic(word, conditions):
            parts = [  # statements as ``is_true``, and/or/not in parentheses
                _truth_call(part) if isinstance(part, syn.Truth) else _operand(part, syn.Logic)
                for part in conditions
            ]
            return f"not {parts[0]}" if word == "not" else f" {word} ".join(parts)
    raise TypeError(f"no expression: {node!r}")


_SUM_NODES = syn.Cat | syn.Chain | syn.Given


# Operators associate to the left, so a right operand of the same rank stands in parentheses.
def _operand(node: Any, needs_parentheses: Any) -> str:
    text = expression_text(node)
    return f"({text})" if isinstance(node, needs_parentheses) else text


def _truth_call(truth: syn.Truth) -> str:
    name = "is_true" if truth.expected else "is_false"
    return f"{name}({', '.join(map(expression_text, (truth.statement, *truth.params)))})"
