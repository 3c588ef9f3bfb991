import { createFile, editFile } from '../../../../src/domain/studio/frontmatter/edit-file.ts';
import { parseFile } from '../../../../src/domain/studio/frontmatter/parse-file.ts';
import { DomainError } from '../../../../src/kernel/errors.ts';
import fc from '../../../support/properties.ts';
import { change, frontmatter, yamlSource } from '../frontmatter/generate.ts';
import { edit, paragraphs } from './texts.ts';

/** What a refusal leaves out of a property test is not an answer of its own. */
export function unlessRefused<Result>(attempt: () => Result): Result | undefined {
  try {
    return attempt();
  } catch (error) {
    if (error instanceof DomainError) return undefined;
    throw error;
  }
}

const body = fc.oneof(fc.constantFrom('', 'Text', '\n\n# T\n'), paragraphs);

const yaml = fc
  .tuple(yamlSource, body, fc.record({ crlf: fc.boolean(), bom: fc.boolean(), gap: fc.boolean() }))
  .map(([source, text, { crlf, bom, gap }]) => {
    const whole = `${bom ? '\ufeff' : ''}---\n${source}---\n${gap ? '\n' : ''}${text}`;
    return { path: 'a.md', bytes: Buffer.from(crlf ? whole.replaceAll('\n', '\r\n') : whole) };
  });

const created = fc
  .record({
    frontmatter,
    body,
    format: fc.constantFrom('yaml' as const, 'toml' as const, 'json' as const),
    kind: fc.constantFrom('content' as const, 'data' as const),
  })
  .map((file) => ({
    path: file.kind === 'data' ? `a.${file.format}` : 'a.md',
    bytes: unlessRefused(() => createFile({ ...file, body: file.kind === 'data' ? '' : file.body }).bytes),
  }))
  .filter((file): file is { path: string; bytes: Buffer } => file.bytes !== undefined);

export interface SampleFile {
  path: string;
  bytes: Buffer;
}

/** Files of all formats: YAML as people write it, and all three as they are created here. */
export const file: fc.Arbitrary<SampleFile> = fc
  .oneof(yaml, created)
  .filter(({ path, bytes }) => parseFile(bytes, path).error === undefined);

/** The file after a save: one value somewhere and perhaps some lines of the body changed; unchanged if refused. */
export function saved({ path, bytes }: SampleFile): fc.Arbitrary<Buffer> {
  const parsed = parseFile(bytes, path);
  const text = parsed.kind === 'data' ? fc.constant('') : fc.oneof(fc.constant(parsed.body), edit(parsed.body));
  return fc
    .tuple(change(parsed.frontmatter ?? {}), text)
    .map(
      ([wanted, after]) =>
        unlessRefused(() => editFile(bytes, path, { frontmatter: wanted, body: after }).bytes) ?? bytes,
    );
}
