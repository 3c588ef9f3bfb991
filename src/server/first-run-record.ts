/** `first-run.json` in the data directory: where the server is, and what its first start made. */
import { randomUUID } from 'node:crypto';
import { open, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';

const record = z.object({
  url: z.string(),
  preview_url: z.string(),
  setup_url: z.string().optional(),
  organization: z.string().optional(),
  project: z.string().optional(),
  token: z.string().optional(),
});

/** `first-run.json`: where the server is, and the demo's token; read by people and by their scripts. */
export type FirstRun = z.output<typeof record>;

const fileName = 'first-run.json';

/** What an earlier start wrote; null when there is nothing that can be read. */
export async function readRecord(dataDir: string): Promise<FirstRun | null> {
  try {
    return record.parse(JSON.parse(await readFile(path.join(dataDir, fileName), 'utf8')));
  } catch (error) {
    if (
      (error as NodeJS.ErrnoException).code === 'ENOENT' ||
      error instanceof SyntaxError ||
      error instanceof z.ZodError
    )
      return null;
    throw error;
  }
}

/** The address at which the server of a data directory was last reached; null when none has started there. */
export async function knownUrl(dataDir: string): Promise<string | null> {
  return (await readRecord(dataDir))?.url ?? null;
}

/** Writes the record so that a reader sees the old one or the new one, never half of it, and only its owner can read either. */
export async function writeRecord(dataDir: string, value: FirstRun): Promise<void> {
  const temporary = path.join(dataDir, `.${fileName}.${randomUUID()}`);
  const file = await open(temporary, 'wx', 0o600);
  try {
    await writeFile(file, `${JSON.stringify(value, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path.join(dataDir, fileName));
}

/** Removes the set-up link, which has been used. */
export async function removeSetupUrl(dataDir: string): Promise<void> {
  const written = await readRecord(dataDir);
  if (written?.setup_url === undefined) return;
  const { setup_url: _used, ...kept } = written;
  await writeRecord(dataDir, kept);
}
