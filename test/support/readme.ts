import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** The shell lines of a section of the README. */
export async function commandsOf(title: string): Promise<string> {
  const text = await readFile(path.join(import.meta.dirname, '../../README.md'), 'utf8');
  const section = text.split(/^#{2,3} /m).find((part) => part.startsWith(title)) ?? '';
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, lines]) => lines).join('\n');
}
