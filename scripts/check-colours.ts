/**
 * Holds the dashboard to the colours of its theme: no other file writes one, neither in hexadecimal digits nor as a function
 * (CSS Color Module Level 4, sections 4 to 6). Run by node itself (`node scripts/check-colours.ts`); needs no package.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const folder = 'src/dashboard';
/** What names the colours, what the build makes, and what runs in pages of sites, which have no theme of ours. */
const exempt = new Set(['theme.ts', 'documents.ts', 'in-page/in-page.ts']);
const colour = /#(?:[\da-f]{3,4}|[\da-f]{6}|[\da-f]{8})\b|\b(?:rgb|hsl|hwb|lab|lch|oklab|oklch)a?\(/gi;

/**
 * @param files text by path from the dashboard's folder, such as `parts/mark.module.css`
 * @returns one line per colour that is written outside of the theme; none when all is well
 */
export function checkColours(files: ReadonlyMap<string, string>): string[] {
  return [...files]
    .filter(([file]) => !exempt.has(file))
    .flatMap(([file, text]) =>
      text
        .split('\n')
        .flatMap((line, at) =>
          [...line.matchAll(colour)].map(
            ([found]) =>
              `${folder}/${file}:${at + 1}: ${found} is a colour of its own; use a token of theme.ts, var(--p-…)`,
          ),
        ),
    );
}

if (import.meta.main) {
  const root = path.join(import.meta.dirname, '..', folder);
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(?:tsx?|css)$/.test(name));
  const faults = checkColours(new Map(names.sort().map((name) => [name, readFileSync(path.join(root, name), 'utf8')])));
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
