import { expect, it, onTestFinished, vi } from 'vitest';
import { ChromiumBrowser } from '../../../src/engines/browser/chromium-browser.ts';
import { chromiumPath } from '../../../src/engines/browser/launch.ts';
import { createLog } from '../../../src/server/log.ts';

it('names the setting when there is no Chromium', async () => {
  const browser = new ChromiumBrowser(
    { path: '/nowhere/chromium', noSandbox: false },
    createLog({ level: 'silent', redactHeaders: [] }),
  );
  expect(await browser.begin()).toEqual({
    ok: false,
    message: 'There is no Chromium for browser_mode and network_intercept: PORTICO_CHROMIUM_PATH is /nowhere/chromium',
  });
  expect(browser.starts).toBe(0);
  await browser.close();
});

it('says so when a profile cannot be made', async () => {
  vi.stubEnv('TMPDIR', '/nowhere');
  onTestFinished(() => void vi.unstubAllEnvs());
  const browser = new ChromiumBrowser(
    { path: process.execPath, noSandbox: false },
    createLog({ level: 'silent', redactHeaders: [] }),
  );
  expect(await browser.begin()).toEqual({
    ok: false,
    message: expect.stringMatching(/^Chromium does not start.*ENOENT.*\/nowhere\/portico-browser-/),
  });
  await browser.close();
});

it('takes the path that is set, else the first place where it usually is', async () => {
  expect(await chromiumPath(process.execPath, [])).toBe(process.execPath);
  expect(await chromiumPath('/nowhere', [process.execPath])).toBeNull();
  expect(await chromiumPath(null, ['/nowhere', process.execPath, '/elsewhere'])).toBe(process.execPath);
  expect(await chromiumPath(null, ['/nowhere'])).toBeNull();
});
