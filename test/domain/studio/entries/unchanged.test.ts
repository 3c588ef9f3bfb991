import { describe, expect, it } from 'vitest';
import { CollectionIndex } from '../../../../src/domain/studio/content/collection-index.ts';
import { newContent } from '../../../../src/domain/studio/entries/plan/change-entry.ts';
import { applyMergePatch } from '../../../../src/domain/studio/frontmatter/merge-patch.ts';
import { openFile, parseFile } from '../../../../src/domain/studio/frontmatter/parse-file.ts';
import type { CollectionSchema } from '../../../../src/domain/studio/schema/collection-schema.ts';
import fc from '../../../support/properties.ts';
import { frontmatter, text, yamlSource } from '../frontmatter/generate.ts';
import { hostileFile } from '../frontmatter/hostile.ts';
import { hostileToml } from '../frontmatter/hostile-toml.ts';
import { file } from '../merge/files.ts';

const index = await CollectionIndex.of({ fields: [] } as unknown as CollectionSchema, []);

/** What a client holds after GET: JSON. */
const shown = (bytes: Buffer, path: string): { frontmatter: Record<string, unknown> | null; body: string } => {
  const { frontmatter: read, body } = parseFile(bytes, path);
  return JSON.parse(JSON.stringify({ frontmatter: read, body }));
};

const bytesOf = (sample: { bytes: Uint8Array } | { text: string }) =>
  Buffer.from('bytes' in sample ? sample.bytes : sample.text);
/** Blank lines that a file may begin with. */
const blank = fc.constantFrom('', '', '', '\n', ' \t\n\n', '\r\n');

const broken = fc
  .oneof(text, yamlSource)
  .map((source) => ({ path: 'a.md', bytes: Buffer.from(`---\n${source}\n`.concat('x: [\n---\nBody\n')) }));
const data = fc
  .constantFrom('a.yml', 'a.json', 'a.toml')
  .chain((path) => text.map((source) => ({ path, bytes: Buffer.from(source.toWellFormed()) })));

describe('a document sent back as it was read', () => {
  it('leaves every byte of any file as it is, in both modes and as raw text', () => {
    let nulls = 0;
    fc.assert(
      fc.property(fc.oneof(file, hostileFile, hostileToml, broken, data), blank, (sample, before) => {
        const { path } = sample;
        const bytes = Buffer.concat([Buffer.from(before), bytesOf(sample)]);
        const read = shown(bytes, path);
        if (JSON.stringify(read.frontmatter).includes(':null')) nulls++;
        const place = { slug: 'a', path, oid: '' };
        for (const mode of ['merge', 'replace'] as const) {
          expect(newContent(index, place, openFile(bytes, path), { ...read, mode } as never).bytes.equals(bytes)).toBe(
            true,
          );
        }
        const raw = { raw: bytes.toString('utf8'), mode: 'merge' } as const;
        expect(newContent(index, place, openFile(bytes, path), raw).bytes.equals(bytes)).toBe(true);
      }),
      { numRuns: 2500 },
    );
    expect(nulls).toBeGreaterThan(100);
  });

  it('is no change of any object, whatever its keys and however deep its nulls', () => {
    fc.assert(
      fc.property(frontmatter, (current) => {
        expect(applyMergePatch(current, structuredClone(current))).toEqual(current);
      }),
      { numRuns: 1000 },
    );
  });
});
