import { constants } from 'node:fs';
import { access } from 'node:fs/promises';

/** Where systems put it. */
const usual = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome-stable',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
  '/opt/google/chrome/chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

const canRun = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

/** Finds the operator's Chromium. @param set `PORTICO_CHROMIUM_PATH`; @returns null when it is not there */
export async function chromiumPath(set: string | null, places: readonly string[] = usual): Promise<string | null> {
  for (const path of set === null ? places : [set]) if (await canRun(path)) return path;
  return null;
}
