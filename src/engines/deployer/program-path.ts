import { accessSync, constants } from 'node:fs';
import path from 'node:path';

/** Where a program lies that the server finds by its own PATH, which commands do not have; null when there is none. */
export function programPath(name: string): string | null {
  for (const directory of (process.env.PATH ?? '').split(path.delimiter).filter(path.isAbsolute)) {
    const file = path.join(directory, name);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not here.
    }
  }
  return null;
}
