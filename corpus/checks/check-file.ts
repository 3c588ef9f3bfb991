import { isDeepStrictEqual } from 'node:util';
import type { FileChanges } from '../../src/domain/studio/frontmatter/edit-file.ts';
import type { ParsedFile } from '../../src/domain/studio/frontmatter/values.ts';
import { findBlock } from '../oracle/block.ts';
import { isCrlf, judgeEdit } from '../oracle/judge-edit.ts';
import { readBlock } from '../oracle/read-block.ts';
import { type CheckName, count, newTally, type Tally } from '../report.ts';
import { seeded } from '../seeded.ts';
import type { ListedFile } from '../sources/source.ts';
import { attempt } from './attempt.ts';
import { applyChange, type Change } from './change.ts';
import { type Form, formsOf } from './forms.ts';
import { planEdits } from './plan-edits.ts';
import { settle, type Trial, timed } from './trial.ts';

/**
 * Reads one file, counts what it is, and puts it and its conversions through every edit.
 * @returns what the engine read
 */
export async function checkFile(trial: Trial, { path }: ListedFile, bytes: Buffer): Promise<ParsedFile> {
  const { engine, report } = trial;
  const parsed = timed(trial, 'parse', () => engine.parse(bytes, path));
  report.files++;
  if (parsed.error !== undefined) {
    const { line, column, message: reason } = parsed.error;
    report.formats.unparsable++;
    report.unparsable.push({ path, line, column, reason });
    return parsed;
  }
  report.formats[parsed.format]++;
  for (const form of formsOf(path, bytes.toString('utf8'), parsed)) await checkForm(trial, form);
  return parsed;
}

async function checkForm(trial: Trial, form: Form): Promise<void> {
  const { engine, seed, report } = trial;
  const bytes = Buffer.from(form.text);
  const { error, frontmatter, body, lossy, format } = engine.parse(bytes, form.path);
  if (frontmatter === null) return judged(trial, form, 'read', { fault: `cannot be read: ${error?.message}` });
  if (format !== 'none') await checkReading(trial, form, frontmatter, lossy.length > 0);
  await judged(trial, form, 'no_op', { fault: noOpFault(trial, form, { frontmatter, body }) });
  const crlf = isCrlf(form.text);
  let stayed = crlf;
  for (const { name, change } of planEdits(frontmatter, seeded(`${seed}:${form.name}:${form.path}`))) {
    const wanted = applyChange(frontmatter, change);
    const outcome = attempt(() => timed(trial, 'edit', () => engine.edit(bytes, form.path, { frontmatter: wanted })));
    if ('refusal' in outcome) {
      const tally = tallyOf(trial, form, name);
      tally.refused++;
      count(tally.refusals, outcome.refusal);
      continue;
    }
    const after = 'crash' in outcome ? null : outcome.result.bytes.toString('utf8');
    const fault =
      after === null ? String('crash' in outcome && outcome.crash) : judgeEdit(form.text, after, form.path, change);
    stayed &&= after !== null && isCrlf(after);
    await judged(trial, form, name, { fault, change, after });
  }
  if (crlf) report.crlf.files++;
  if (stayed) report.crlf.stayed++;
}

/** The engine's reader and the library's are the same but for numbers JavaScript cannot hold. */
async function checkReading(trial: Trial, form: Form, frontmatter: object, lossy: boolean): Promise<void> {
  const block = findBlock(form.text, form.path);
  if (block === null || lossy) return;
  const own = readBlock(form.text.slice(block.start, block.end), block.format);
  const fault = isDeepStrictEqual(own, frontmatter) ? null : 'the engine and the library read differently';
  await judged(trial, form, 'read', { fault });
}

/** What is wrong with saves that want what is there already, the keys in whatever order; null when every byte stays. */
function noOpFault(
  { engine }: Trial,
  { text, path }: Form,
  { frontmatter, body }: Required<FileChanges>,
): string | null {
  const bytes = Buffer.from(text);
  const turned = Object.fromEntries(Object.entries(frontmatter).reverse());
  for (const changes of [{ frontmatter }, { frontmatter: turned, body }]) {
    const outcome = attempt(() => engine.edit(bytes, path, changes).bytes);
    if (!('result' in outcome)) return 'crash' in outcome ? outcome.crash : outcome.refusal;
    if (!outcome.result.equals(bytes)) return 'a save that changes nothing changed bytes';
  }
  return null;
}

interface Judgement {
  fault: string | null;
  change?: Change;
  after?: string | null;
}

async function judged(trial: Trial, form: Form, check: CheckName, { fault, change, after }: Judgement): Promise<void> {
  settle(tallyOf(trial, form, check), fault);
  if (fault === null) return;
  const { report, fixtures } = trial;
  const files = { before: form.text, ...(after != null && { after }) };
  const about = { source: report.source, path: form.path, check: `${form.name}-${check}`, fault, edit: change ?? null };
  const directory = await fixtures.write({ ...about, files });
  if (directory !== null) report.reproductions.push(directory);
}

function tallyOf({ report }: Trial, { name }: Form, check: CheckName): Tally {
  const tallies = report.checks[name];
  tallies[check] ??= newTally();
  return tallies[check];
}
