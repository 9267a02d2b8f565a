"""A flow as seed 000 describes it: the entities of its collections `flows` and `workflows`, with its names.

What the seed names but leaves open (NamespaceDefinition, BlockDefinition and so on) is defined here in the same manner.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class FlowIdentity:
    """Which flow: what it is called, where it is from."""

    name: str
    path: str
    uuid: str


@dataclass
class Parameter:
    """A param, return or field, or what it is given."""

    name: str
    type: str = "Json"
    value: Any = None
    has_default: bool = False
    documentation: str = ""
    """What `@param` or `@return` says of it."""


@dataclass
class NamespaceDefinition:
    uuid: str
    name: str
    documentation: str = ""
    uses: list[str] = field(default_factory=list)


@dataclass
class FacetDefinition:
    """A facet, event facet, workflow or schema: `kind` says which."""

    uuid: str
    name: str
    namespace_id: str
    kind: str
    parameters: list[Parameter] = field(default_factory=list)
    returns: list[Parameter] = field(default_factory=list)
    documentation: str = ""
    file: str = ""
    line: int = 0


@dataclass
class MixinDefinition:
    """`with …` on a signature or a call."""

    uuid: str
    name: str
    owner_id: str
    alias: str | None = None
    arguments: list[Parameter] = field(default_factory=list)


@dataclass
class BlockDefinition:
    """Some braces: `kind` is AndThen, AndMap, AndMatch, When, Case or Catch; `container_id` is whose they are."""

    uuid: str
    kind: str
    container_id: str
    order: int = 0
    variable: str | None = None
    condition: str | None = None
    iterable: str | None = None


@dataclass
class StatementDefinition:
    """A step or a yield, with the seed's object types."""

    uuid: str
    name: str
    object_type: str
    block_id: str
    facet_name: str
    facet_id: str | None = None
    order: int = 0
    file: str = ""
    line: int = 0


@dataclass
class StatementArguments:
    statement_id: str
    arguments: list[Parameter] = field(default_factory=list)


@dataclass
class StatementReferences:
    """The dependency graph: what a statement waits for."""

    statement_id: str
    references: list[str] = field(default_factory=list)


@dataclass
class ScriptCode:
    uuid: str
    owner_id: str
    language: str
    code: str
    file: str = ""
    line: int = 0


@dataclass
class FileArtifact:
    name: str
    path: str = ""


@dataclass
class JarArtifact:
    name: str
    path: str = ""


@dataclass
class ResourceSource:
    name: str
    path: str = ""


@dataclass
class TextSource:
    name: str
    language: str
    text: str


@dataclass
class InlineSource:
    text: str
    language: str = "afl"


@dataclass
class SourceText:
    """What a source was compiled to."""

    name: str
    language: str
    text: str


@dataclass
class Classifier:
    name: str
    version: str = ""


@dataclass
class UserDefinition:
    email: str
    name: str = ""
    uuid: str = ""


@dataclass
class Ownership:
    user: UserDefinition | None = None
    group: str = ""


@dataclass
class WorkflowMetaData:
    entries: dict[str, Any] = field(default_factory=dict)


@dataclass
class WorkflowDefinition:
    """Named workflow entry point."""

    uuid: str
    name: str
    namespace_id: str
    facet_id: str
    flow_id: str
    starting_step: str
    version: str
    metadata: WorkflowMetaData | None = None
    documentation: str | None = None
    date: int = 0


@dataclass
class FlowDefinition:
    """Compiled AFL flow definition."""

    uuid: str
    name: FlowIdentity
    namespaces: list[NamespaceDefinition] = field(default_factory=list)
    facets: list[FacetDefinition] = field(default_factory=list)
    workflows: list[WorkflowDefinition] = field(default_factory=list)
    mixins: list[MixinDefinition] = field(default_factory=list)
    blocks: list[BlockDefinition] = field(default_factory=list)
    statements: list[StatementDefinition] = field(default_factory=list)
    arguments: list[StatementArguments] = field(default_factory=list)
    references: list[StatementReferences] = field(default_factory=list)
    script_code: list[ScriptCode] = field(default_factory=list)
    file_artifacts: list[FileArtifact] = field(default_factory=list)
    jar_artifacts: list[JarArtifact] = field(default_factory=list)
    resources: list[ResourceSource] = field(default_factory=list)
    text_sources: list[TextSource] = field(default_factory=list)
    inline: InlineSource | None = None
    classification: Classifier | None = None
    publisher: UserDefinition | None = None
    ownership: Ownership | None = None
    compiled_sources: list[SourceText] = field(default_factory=list)
