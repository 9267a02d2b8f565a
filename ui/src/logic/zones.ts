/** Time zones by name. */

const KNOWN: readonly string[] = typeof Intl.supportedValuesOf === "function" ? ["UTC", ...Intl.supportedValuesOf("timeZone").filter((one) => one !== "UTC")] : ["UTC"];

export function zones(): readonly string[] {
  return KNOWN;
}

/** Those whose name has every word that was typed; `local` first, if it fits. A city's name before a region's. */
export function matching(text: string, local: string): string[] {
  const words = text.toLowerCase().split(/[\s_/]+/).filter(Boolean);
  const fits = (name: string): boolean => words.every((word) => name.toLowerCase().includes(word));
  const city = (name: string): boolean => words[0] !== undefined && (name.split("/").pop() ?? "").toLowerCase().startsWith(words[0]);
  const found = KNOWN.filter(fits);
  const sorted = [...found.filter(city), ...found.filter((one) => !city(one))];
  return fits(`${local} local yours`) ? ["local", ...sorted] : sorted;
}
