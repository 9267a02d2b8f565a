/** What a browser says of itself, in two words: `Firefox on Windows`. Null for what is none of the known ones. */
export function browserOf(agent: string): string | null {
  if (!/^Mozilla\/5\.0 \(/.test(agent)) return null;
  // each claims to be those after it
  const name = [["Edg/", "Edge"], ["OPR/", "Opera"], ["Firefox/", "Firefox"], ["Chromium/", "Chromium"], ["HeadlessChrome/", "Chrome"], ["Chrome/", "Chrome"], ["Safari/", "Safari"]].find(([part]) => agent.includes(part ?? ""))?.[1];
  const system = [["Android", "Android"], ["iPhone", "iPhone"], ["iPad", "iPad"], ["Windows", "Windows"], ["Mac OS X", "macOS"], ["Linux", "Linux"]].find(([part]) => agent.includes(part ?? ""))?.[1];
  return name && system ? `${name} on ${system}` : null;
}
