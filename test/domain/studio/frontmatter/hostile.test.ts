import { describe, expect, it } from 'vitest';
import { applyChange } from '../../../../corpus/checks/change.ts';
import { planEdits } from '../../../../corpus/checks/plan-edits.ts';
import { judgeEdit } from '../../../../corpus/oracle/judge-edit.ts';
import { seeded } from '../../../../corpus/seeded.ts';
import { editFile } from '../../../../src/domain/studio/frontmatter/edit-file.ts';
import { parseFile } from '../../../../src/domain/studio/frontmatter/parse-file.ts';
import { DomainError } from '../../../../src/kernel/errors.ts';
import fc from '../../../support/properties.ts';
import { change } from './generate.ts';
import { type HostileFile, hostileFile } from './hostile.ts';
import { hostileToml } from './hostile-toml.ts';

const runs = { numRuns: Number(process.env.RUNS ?? 500) };
const read = ({ text, path }: HostileFile) => parseFile(Buffer.from(text), path).frontmatter;

/** The result, or undefined when the engine refuses; any other error fails the test. */
function editedOrRefused({ text, path }: HostileFile, wanted: Record<string, unknown>): string | undefined {
  try {
    return editFile(Buffer.from(text), path, { frontmatter: wanted }).bytes.toString('utf8');
  } catch (error) {
    if (
      error instanceof DomainError &&
      ['not_editable', 'validation_failed', 'frontmatter_invalid'].includes(error.code)
    )
      return undefined;
    throw error;
  }
}

describe.each([
  ['YAML', hostileFile],
  ['TOML', hostileToml],
])('hostile %s', (_, file) => {
  it('is edited to what another reader finds right to the byte, or refused', () => {
    const met = new Set<string>();
    let exact = 0;
    fc.assert(
      fc.property(file, fc.nat(), (hostile, seed) => {
        const frontmatter = read(hostile);
        for (const { change } of frontmatter === null ? [] : planEdits(frontmatter, seeded(String(seed)))) {
          const after = editedOrRefused(hostile, applyChange(frontmatter ?? {}, change));
          if (after === undefined) continue;
          expect(judgeEdit(hostile.text, after, hostile.path, change)).toBeNull();
          for (const hardship of hostile.hardships) met.add(hardship);
          exact++;
        }
      }),
      runs,
    );
    expect(exact).toBeGreaterThan(runs.numRuns / 4);
    const wanted = ['anchors', 'mergeKeys', 'blockScalars', 'tabs', 'templates', 'tags', 'comments', 'crlf', 'bom'];
    if (file === hostileFile) expect([...met]).toEqual(expect.arrayContaining(wanted));
  });

  it('holds whatever was wanted, or stays as it is', () => {
    const wish = file.chain((hostile) => fc.tuple(fc.constant(hostile), change(read(hostile) ?? {})));
    fc.assert(
      fc.property(wish, ([hostile, wanted]) => {
        if (read(hostile) === null) return;
        const after = editedOrRefused(hostile, wanted);
        if (after !== undefined) expect(parseFile(Buffer.from(after), hostile.path).frontmatter).toEqual(wanted);
      }),
      runs,
    );
  });

  it('keeps every byte when nothing is wanted', () => {
    fc.assert(
      fc.property(file, (hostile) => {
        const { frontmatter, body } = parseFile(Buffer.from(hostile.text), hostile.path);
        if (frontmatter === null) return;
        const turned = Object.fromEntries(Object.entries(frontmatter).reverse());
        const { bytes } = editFile(Buffer.from(hostile.text), hostile.path, { frontmatter: turned, body });
        expect(bytes.toString('utf8')).toBe(hostile.text);
      }),
      runs,
    );
  });
});

describe('a key given twice', () => {
  it('is refused wherever it stands', () => {
    const twice = hostileFile.filter(({ hardships }) => hardships.has('duplicateKeys'));
    fc.assert(
      fc.property(twice, ({ text, path }) => {
        expect(parseFile(Buffer.from(text), path).error).toBeDefined();
      }),
    );
  });
});
