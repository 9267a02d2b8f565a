/** What a reader chooses for themselves, kept in their browser: theme and zone. */

import { kept } from "./store";
import type { Zone } from "../logic/time";

export type Theme = "system" | "light" | "dark";

export const theme = kept<Theme>("weft.theme", "system", (text) => ["system", "light", "dark"].includes(text));
export const zone = kept<Zone>("weft.zone", "local", (text) => {
  if (text === "local") return true;
  try {
    new Intl.DateTimeFormat("en", { timeZone: text });
    return true;
  } catch {
    return false;
  }
});

/** Puts the theme on the page; the style sheet does the rest. */
export function applyTheme(): void {
  const dark = theme.get() === "dark" || (theme.get() === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
}

export function followTheme(): void {
  applyTheme();
  theme.listen(applyTheme);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
}

export function zoneName(chosen: Zone): string {
  return chosen === "local" ? Intl.DateTimeFormat().resolvedOptions().timeZone : chosen;
}
