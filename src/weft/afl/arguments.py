"""Calls: what each param is given, by arguments, mixins, implicits and defaults, in that order; and what mixins effect."""

from weft.afl.diagnostic import Near, Report
from weft.afl.program import ANY, Declared, Program
from weft.afl.resolving import Resolving
from weft.afl.scope import Called, Owner, Scope
from weft.afl.signature import (
    ATTEMPTS,
    BACKOFF,
    BUILTIN,
    CREDENTIALS,
    MULTIPLIER,
    RETRIED,
    RETRY,
    SECONDS,
    TIMEOUT,
    Signature,
    Signatures,
    Slot,
)  # fmt: skip
from weft.afl.syntax import Argument, Call, Declaration, Literal_, Mixin, Name
from weft.afl.syntax import Expression as Written
from weft.afl.values import constant
from weft.plan.expression import Apply, Expression, Map, Secret, Value
from weft.plan.model import OptionName

Given = dict[str, Expression]


class Arguments(Resolving):
    def __init__(self, program: Program, signatures: Signatures, report: Report) -> None:
        super().__init__(program, signatures, report)
        self._implied: dict[tuple[str, str], Given] = {}
        """What implicits give to calls of a facet from a namespace."""
        self._constants: dict[tuple[int, str], Expression | None] = {}
        """Constant defaults, by the params' own ids: made once for all calls of what has them."""

    def call(self, call: Call, scope: Scope) -> Called:
        """A call in a scope, checked."""
        declared = self.callee(call.target)
        signature = self.signatures.of(declared) if declared else None
        what = declared.name.text if declared else call.target.text
        given = self._given(call.args, scope, signature.params if signature else None, what)
        bundles = [(mixin, *self._bundle(mixin, scope)) for mixin in call.mixins]
        self._aliases(call.mixins)
        event = declared is None or (isinstance(declared, Declaration) and declared.worked)
        options: dict[OptionName, Expression] = {}
        extra: Given = {}
        entries = dict(given)
        for mixin, target, bundle in bundles:
            self._effect(mixin, target, bundle, entries, extra, options, signature=signature, event=event)
        computed = False
        defaults: Given = {}
        if declared is not None and signature is not None and self.spend(_parts(declared, signature), call.start, call.end):
            if isinstance(declared, Declaration):
                computed = self._of_signature(declared, entries, extra, options, call)
                for name, value in self._implicit(declared).items():
                    entries.setdefault(name, value)
            for slot in signature.params.values():
                if slot.name in entries:
                    continue
                if slot.default is None:
                    message = f"{what} wants {slot.name!r} ({slot.type}), which is not given"
                    self.tell("missing-argument", message, call.target.start, call.target.end, f"add {slot.name} = …")
                elif (default := self._constant(slot)) is not None:
                    defaults[slot.name] = default
                else:
                    computed = True
        if "retry" in options:
            options.setdefault("max_attempts", Value(RETRIED))
        secret = any(isinstance(one, Secret) for one in extra.values())
        if secret and isinstance(declared, Declaration) and declared.is_block:
            message = f"{what} has a body, so its secret cannot come with a call"
            hint = "put Credentials on its signature"
            if call.mixins:
                self.tell("secret-constant", message, call.mixins[0].start, call.mixins[-1].end, hint)
        name = declared.qualified if declared else call.target.text
        return Called(declared, name, entries, defaults, computed, extra, options)

    def _given(
        self, args: list[Argument], scope: Scope, slots: dict[str, Slot] | None, what: str, *, numbers: bool = False
    ) -> Given:
        """The arguments as they stand; `slots` None: anything goes, or only numbers."""
        given: Given = {}
        for one in args:
            name = one.name.text
            expression, type_ = self.wanted(slots[name].type if slots and name in slots else ANY, one.value, scope)
            if name in given:
                message = f"the argument {name!r} is given twice"
                self.tell("duplicate-argument", message, one.name.start, one.name.end, "remove one")
            elif slots is not None and name not in slots:
                message = f"{what} has no param {name!r}"
                hint = Near(name, lambda: slots, "it takes none")
                self.tell("unknown-argument", message, one.name.start, one.name.end, hint)
            elif slots is not None:
                slot = slots[name]
                nothing = isinstance(one.value, Literal_) and one.value.value is None
                if not (nothing and slot.nullable):
                    self.fit(slot.type, type_, f"{name!r} of {what}", one.value)
            elif numbers:
                self.fit("Double", type_, f"{name!r} of {what}", one.value)
            given[name] = expression
        return given

    def _aliases(self, mixins: list[Mixin]) -> None:
        seen: set[str] = set()
        for one in mixins:
            if one.alias is None:
                continue
            if one.alias.text in seen:
                message = f"the alias {one.alias.text!r} is there twice"
                self.tell("duplicate-alias", message, one.alias.start, one.alias.end, "rename one")
            seen.add(one.alias.text)

    # mixins

    def _bundle(self, mixin: Mixin, scope: Scope) -> tuple[Declared | None, Given]:
        """What a mixin brings: its arguments, implicits for it, its constant defaults."""
        short = _short(mixin.target)
        target = self.callee(mixin.target, builtin=short in BUILTIN)
        if target is None:
            known = BUILTIN.get(short) or None
            given = self._given(mixin.args, scope, None, short, numbers=bool(known))
            for one in mixin.args if known else ():
                if known and one.name.text not in known:
                    hint = Near(one.name.text, lambda: sorted(known), "see the reference")
                    message = f"{short} has no param {one.name.text!r}"
                    self.tell("unknown-argument", message, one.name.start, one.name.end, hint)
            return None, given
        signature = self.signatures.of(target)
        given = self._given(mixin.args, scope, signature.params, target.name.text)
        if isinstance(target, Declaration):
            for name, value in self._implicit(target).items():
                given.setdefault(name, value)
        for slot in signature.params.values():
            if slot.name not in given:
                if slot.default is None:
                    message = f"{target.name.text} wants {slot.name!r}, which is not given"
                    self.tell("missing-argument", message, mixin.target.start, mixin.target.end, f"add {slot.name} = …")
                elif (default := self._constant(slot)) is not None:
                    given[slot.name] = default
        return target, given

    def _effect(
        self, mixin: Mixin, target: Declared | None, bundle: Given, entries: Given, extra: Given,
        options: dict[OptionName, Expression], *, signature: Signature | None, event: bool,
    ) -> None:  # fmt: skip
        """Timeout and Retry say how the task is tried; others are passed on, flat or under their alias."""
        short = _short(mixin.target)
        if short in (TIMEOUT, RETRY):
            made = timeout(bundle) if short == TIMEOUT else retry(bundle)
            attempts = made.get("max_attempts")
            if isinstance(attempts, Value) and not (isinstance(attempts.value, int) and 1 <= attempts.value <= 1000):
                self.tell("type-mismatch", "Retry takes 1 to 1000 attempts", mixin.start, mixin.end)
            limit = made.get("timeout")
            if isinstance(limit, Value) and not limit.value > 0:
                self.tell("type-mismatch", "Timeout takes more than 0 seconds", mixin.start, mixin.end)
            for option, value in made.items():
                options.setdefault(option, value)
            if made and not event:
                message = f"{short} has no effect here: no agent does this"
                self.tell("no-effect", message, mixin.start, mixin.end, "put it on the event facets inside")
            return
        if short == CREDENTIALS and "secret" in bundle:
            secret = bundle.pop("secret")
            if isinstance(secret, Value) and isinstance(secret.value, str) and secret.value:
                extra.setdefault("credentials", Secret(secret.value))
            else:
                message = "the secret of Credentials must be named by a text, as it is"
                self.tell("secret-constant", message, mixin.start, mixin.end, 'secret = "NAME"')
        if mixin.alias is not None:
            alias = mixin.alias.text
            if signature is None or alias not in signature.params:
                extra.setdefault(alias, Map(bundle))
            elif entries.setdefault(alias, Map(bundle)) != Map(bundle):
                message = f"{alias!r} is given, and is the alias of a mixin too"
                self.tell("duplicate-alias", message, mixin.alias.start, mixin.alias.end, "rename the alias")
            return
        for name, value in bundle.items():
            if signature is not None and name in signature.params:
                entries.setdefault(name, value)
            else:
                extra.setdefault(name, value)

    def _of_signature(
        self, declared: Declaration, entries: Given, extra: Given, options: dict[OptionName, Expression], call: Call
    ) -> bool:
        """What the mixins of the callee's own signature add; the call's count more. True if some must be computed there."""
        overridden = {_short(mixin.target) for mixin in call.mixins}
        owner = Owner(declared.qualified, declared=declared, signature=self.signatures.of(declared))
        inside = Scope(owner, declared.qualified, outer=None)
        computed = False
        kept = self.quiet, self.source, self.namespace
        self.quiet, self.source, self.namespace = True, declared.source, declared.namespace
        for mixin in declared.mixins:
            if _short(mixin.target) in overridden:
                continue
            if not all(constant(one.value) for one in mixin.args):
                computed = True
                continue
            target, bundle = self._bundle(mixin, inside)
            self._effect(mixin, target, bundle, entries, extra, options, signature=owner.signature, event=True)
        self.quiet, self.source, self.namespace = kept
        return computed

    def signed(self, declared: Declaration, scope: Scope) -> Called:
        """What the signature's own mixins bring, seen from inside."""
        entries: Given = {}
        extra: Given = {}
        options: dict[OptionName, Expression] = {}
        self._aliases(declared.mixins)
        for mixin in declared.mixins:
            target, bundle = self._bundle(mixin, scope)
            self._effect(mixin, target, bundle, entries, extra, options, signature=scope.owner.signature,
                         event=declared.worked)  # fmt: skip
        return Called(declared, declared.qualified, entries, {}, False, extra, options)

    # implicits and defaults

    def _implicit(self, declared: Declaration) -> Given:
        key = (declared.qualified, self.namespace)
        if key not in self._implied:
            self._implied[key] = self._implicits(declared)
        return self._implied[key]

    def _implicits(self, declared: Declaration) -> Given:
        found: Given = {}
        slots = self.signatures.of(declared).params
        for one in self.program.implicits(declared, self.namespace):
            for argument in one.call.args:
                if argument.name.text in slots and constant(argument.value):
                    found.setdefault(argument.name.text, self._quiet(argument.value, slots[argument.name.text].type))
            for mixin in one.call.mixins:
                for argument in mixin.args:
                    if argument.name.text in slots and constant(argument.value):
                        found.setdefault(argument.name.text, self._quiet(argument.value, slots[argument.name.text].type))
        return found

    def idle(self, call: Call, scope: Scope, where: str, slots: dict[str, Slot]) -> None:
        """Mixins where nothing is called: they are checked, and told if they bring nothing that is taken."""
        self._aliases(call.mixins)
        for mixin in call.mixins:
            self._bundle(mixin, scope)
            if mixin.alias is not None or not any(one.name.text in slots for one in mixin.args):
                message = f"{mixin.target.text} has no effect {where}"
                self.tell("no-effect", message, mixin.start, mixin.end, "put it on a call or on a signature")

    def _constant(self, slot: Slot) -> Expression | None:
        """Its default, if that is a constant."""
        key = id(slot.written), slot.type
        if key not in self._constants:
            default = slot.default
            self._constants[key] = None if default is None or not constant(default) else self._quiet(default, slot.type)
        return self._constants[key]

    def _quiet(self, written: Written, wanted: str) -> Expression:
        """A constant's value; what is wrong with it is told where it is declared."""
        owner = Owner("", declared=None, signature=Signature({}, {}))
        before, self.quiet = self.quiet, True
        try:
            return self.wanted(wanted, written, Scope(owner, "", outer=None))[0]
        finally:
            self.quiet = before


def _parts(declared: Declared, signature: Signature) -> int:
    """How much a call of this comes to."""
    return len(signature.params) + (len(declared.mixins) if isinstance(declared, Declaration) else 0)


def timeout(bundle: Given) -> dict[OptionName, Expression]:
    """Seconds, from whatever units are given."""
    terms = [_times(bundle[name], SECONDS[name]) for name in bundle if name in SECONDS]
    if not terms:
        return {}
    if all(isinstance(term, Value) for term in terms):
        return {"timeout": Value(_whole(sum(term.value for term in terms if isinstance(term, Value))))}
    found = terms[0]
    for term in terms[1:]:
        found = Apply("+", (found, term))
    return {"timeout": found}


def retry(bundle: Given) -> dict[OptionName, Expression]:
    """How often and with which pauses: they double, from the first on, up to ten minutes or the first if it is longer."""
    found: dict[OptionName, Expression] = {} if bundle else {"max_attempts": Value(RETRIED)}
    for name, more in ATTEMPTS.items():
        if name in bundle and "max_attempts" not in found:
            value = bundle[name]
            if isinstance(value, Value):
                found["max_attempts"] = Value(value.value + more) if isinstance(value.value, int) else value
            else:
                found["max_attempts"] = Apply("+", (value, Value(more))) if more else value
    base = next((_times(bundle[name], BACKOFF[name]) for name in BACKOFF if name in bundle), None)
    if base is not None:
        multiplier = next((bundle[name] for name in MULTIPLIER if name in bundle), Value(2))
        cap = max(600, base.value) if isinstance(base, Value) and isinstance(base.value, int | float) else 86_400
        policy = {"backoff": Value("exponential"), "base": base, "multiplier": multiplier, "cap": Value(cap)}
        if all(isinstance(one, Value) for one in policy.values()):
            found["retry"] = Value({name: one.value for name, one in policy.items() if isinstance(one, Value)})
        else:
            found["retry"] = Map(policy)
    return found


def _times(value: Expression, factor: float) -> Expression:
    if isinstance(value, Value):
        usable = isinstance(value.value, int | float) and not isinstance(value.value, bool)
        return Value(_whole(value.value * factor)) if usable else Value(0)
    return value if factor == 1 else Apply("*", (value, Value(factor)))


def _whole(value: float) -> int | float:
    return int(value) if float(value).is_integer() else round(value, 6)


def _short(name: Name) -> str:
    return name.text.rpartition(".")[2]

