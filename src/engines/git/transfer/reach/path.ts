import { stat, writeFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { DomainError } from '../../../../domain/errors.ts';
import type { Reach } from './reach.ts';
import { withScratch } from './scratch.ts';

/**
 * Reaches a repository of this machine. git refuses those of other users unless their path is named as safe in the global configuration:
 * `-c` does not reach the process that reads the source. git 2.39 compares there with `.`, later ones with the path.
 *
 * @throws DomainError `invalid_request` when there is no directory at the path
 */
export async function withPath<T>(path: string, job: (way: Reach) => Promise<T>): Promise<T> {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these would end the line of the settings file
  if (!isAbsolute(path) || /[\u0000-\u001f]/.test(path))
    throw new DomainError('invalid_request', 'url: must be an absolute path');
  const seen = await stat(path).catch(() => null);
  if (!seen?.isDirectory()) throw new DomainError('invalid_request', 'url: there is no directory at this path');
  return withScratch(async (scratch) => {
    const settings = join(scratch, 'config');
    const safe = ['.', path, `${path}/.git`].map((value) => `\tdirectory = "${value.replace(/["\\]/g, '\\$&')}"\n`);
    await writeFile(settings, `[safe]\n${safe.join('')}`);
    return job({ url: path, config: [['protocol.file.allow', 'always']], env: { GIT_CONFIG_GLOBAL: settings } });
  });
}
