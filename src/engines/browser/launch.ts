import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import path from 'node:path';
import type { Browser as Chromium } from 'playwright-core';
import { clearOwnedDirectories, type OwnedDirectory, openOwnedDirectory } from '../../lib/owned-directory.ts';

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

/** So many pages, or so many bytes at a look that is taken every so many pages. */
export interface Wear {
  pages: number;
  bytes: number;
  lookEvery: number;
  /** Bytes beyond which its largest page is ended at once. */
  most: number;
}

export interface BrowserSettings {
  /** Null: looked for where it usually is. */
  path: string | null;
  /** Set by the operator when the kernel offers no sandbox. */
  noSandbox: boolean;
  /** When a browser is replaced by a new one. */
  wornAfter?: Wear;
  /** Called when one takes the place of another. */
  onRestart?: () => void;
}

/** Why there is no browser; for the owner of a crawler, naming the setting to see. */
export class NoBrowser extends Error {
  override name = 'NoBrowser';
}

const launchTime = 30_000;

/** Beside what Playwright sets: no background traffic, no other protocol, no name resolution. */
const switches = [
  '--disable-quic',
  // No UDP: the first is the switch of headless shells, the second that of whole browsers; neither takes the other's.
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-background-networking',
  '--disable-component-update',
  '--no-first-run',
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
];

const isSandboxFault = (message: string): boolean => /no usable sandbox|without --no-sandbox|zygote/i.test(message);

const prefix = 'portico-browser-';

/** Removes the profiles of browsers whose process was killed. */
export const clearProfiles = () => clearOwnedDirectories(prefix);

/** Chromium and its profile directory, which is removed when Chromium has ended. */
export interface Launched {
  chromium: Chromium;
  directory: OwnedDirectory;
}

interface Way {
  executablePath: string;
  noSandbox: boolean;
  proxy: string;
}

/** Playwright would put the profile where it is never found again after a crash, except for a browser with a persistent profile. */
async function launchIn(directory: OwnedDirectory, { executablePath, noSandbox, proxy }: Way): Promise<Chromium> {
  // A server that crawls nothing in a browser neither waits for the library nor holds it.
  const { chromium } = await import('playwright-core');
  const context = await chromium.launchPersistentContext(path.join(directory.path, 'profile'), {
    executablePath,
    headless: true,
    chromiumSandbox: !noSandbox,
    proxy: { server: proxy, bypass: '<-loopback>' },
    args: switches,
    artifactsDir: path.join(directory.path, 'artifacts'),
    timeout: launchTime,
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  });
  const browser = context.browser();
  if (!browser) throw new Error('Chromium has no browser behind its window');
  // Runs have contexts of their own; its first window would be one more process.
  await Promise.all(context.pages().map((page) => page.close()));
  return browser;
}

/**
 * Starts Chromium behind a proxy, which it uses for loopback as well.
 * @throws NoBrowser
 */
export async function launch(
  { path, noSandbox }: Pick<BrowserSettings, 'path' | 'noSandbox'>,
  proxy: string,
): Promise<Launched> {
  const executablePath = await chromiumPath(path);
  if (executablePath === null)
    throw new NoBrowser(
      path === null
        ? 'There is no Chromium for browser_mode and network_intercept: install it, or set PORTICO_CHROMIUM_PATH'
        : `There is no Chromium for browser_mode and network_intercept: PORTICO_CHROMIUM_PATH is ${path}`,
    );
  let directory: OwnedDirectory | undefined;
  try {
    directory = await openOwnedDirectory(prefix);
    return { chromium: await launchIn(directory, { executablePath, noSandbox, proxy }), directory };
  } catch (error) {
    await directory?.remove();
    const message = error instanceof Error ? error.message : String(error);
    if (isSandboxFault(message))
      throw new NoBrowser(
        'Chromium has no sandbox here: give it one, or set PORTICO_CHROMIUM_NO_SANDBOX=1 to run it without',
        { cause: error },
      );
    throw new NoBrowser(`Chromium does not start, see PORTICO_CHROMIUM_PATH: ${message.split('\n', 1)[0]}`, {
      cause: error,
    });
  }
}
