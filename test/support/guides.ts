import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** The shell lines of a guide of `docs/`, such as `crawlers`, below the heading that begins with a title. */
export async function commandsOf(guide: string, title: string): Promise<string> {
  const text = await readFile(path.join(import.meta.dirname, `../../docs/${guide}.md`), 'utf8');
  const section = text.split(/^## /m).find((part) => part.startsWith(title)) ?? '';
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, lines]) => lines).join('\n');
}
