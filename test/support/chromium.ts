import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** The whole browser, with its profile. */
export const wholeChromium = '/usr/bin/chromium';
/** The same engine without what belongs to windows: a page costs half the time. */
const shell = '/usr/bin/chromium-headless-shell';

/** Starts the browser of pages that tests look at: `CHROMIUM`, or what is installed. */
export async function launchChromium(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? [shell, wholeChromium].find(existsSync) ?? shell;
  if (!existsSync(executablePath)) throw new Error(`This test needs chromium: nothing is at ${executablePath}`);
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-quic'] });
}
