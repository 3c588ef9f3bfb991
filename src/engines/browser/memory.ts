import { readFile } from 'node:fs/promises';
import type { Browser as Chromium } from 'playwright-core';

const pageSize = 4096;

/** Bytes a process has for itself; 0 when that cannot be known. */
async function ownBytes(pid: number): Promise<number> {
  const [, resident = 0, shared = 0] = (await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => ''))
    .split(' ')
    .map(Number);
  return Math.max(0, resident - shared) * pageSize;
}

/** Bytes all processes of a browser have for themselves; 0 where the system does not tell. */
export async function memoryOf(browser: Chromium): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  try {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    const sizes = await Promise.all(processInfo.map(({ id }) => ownBytes(id)));
    return sizes.reduce((sum, size) => sum + size, 0);
  } finally {
    await session.detach().catch(() => {});
  }
}
