import { sign, tone, word } from "../logic/states";
import { clean } from "../logic/text";

/** A state as a word with a sign and a colour. */
export function StateBadge({ state, hint }: { state: string; hint?: string | null | undefined }) {
  return (
    <span className={`badge tone-${tone(state)}`} title={hint ? clean(hint) : undefined}>
      <span aria-hidden="true">{sign(state)}</span> {clean(word(state))}{hint ? <span className="badge-hint"> {clean(word(hint))}</span> : null}
    </span>
  );
}

/** Words that only need to be told apart. */
export function Tags({ of }: { of: readonly string[] | null | undefined }) {
  if (!of?.length) return null;
  return <span className="tags">{of.map((one) => <span key={one} className="tag">{clean(one)}</span>)}</span>;
}
