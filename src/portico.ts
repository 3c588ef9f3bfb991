#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { exitCodes, runCli } from './cli/cli.ts';
import type { CommandCore } from './cli/command.ts';
import { Screen } from './cli/screen.ts';
import { DomainError } from './kernel/errors.ts';
import { type Config, describeConfig, readConfig } from './server/config.ts';
import { createLog } from './server/log.ts';

/** Root of the package, seen from `dist/src`. */
const packageRoot = path.resolve(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(path.join(packageRoot, 'package.json'), 'utf8')) as { version: string };
const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

const screen = new Screen(process.stdout, process.stderr);
const stopping = new AbortController();
const closing: (() => Promise<void>)[] = [];
let opened: Promise<CommandCore> | undefined;
let stoppedWith: number | undefined;

/** The settings, read when a command needs them: help is there under wrong ones too. */
function settings(): Config {
  const { config, warnings } = readConfig(process.env);
  for (const warning of warnings) screen.note(`portico: ${warning}`);
  return config;
}

/** The database, the repositories and the keys, in this process; loaded here because most of a command's time is this. */
async function openCommandCore(): Promise<CommandCore> {
  const config = settings();
  const [{ openCore }, { joinDatabase }, { knownUrl }] = await Promise.all([
    import('./server/core.ts'),
    import('./server/database.ts'),
    import('./server/first-run-record.ts'),
  ]);
  // Commands print their own output; the log is opt-in.
  const level = ['debug', 'trace'].includes(config.PORTICO_LOG_LEVEL) ? config.PORTICO_LOG_LEVEL : 'silent';
  const log = createLog({ level, redactHeaders: config.PORTICO_REDACT_HEADERS, destination: process.stderr });
  const public_url =
    config.PORTICO_PUBLIC_URL ??
    (await knownUrl(config.PORTICO_DATA_DIR)) ??
    `http://localhost:${config.PORTICO_PORT || 4280}`;
  const database = await joinDatabase(config, log, stopping.signal);
  closing.push(() => database.stop());
  const core = await openCore({
    config,
    databaseUrl: database.url,
    log,
    version,
    settings: { public_url, public_host: new URL(public_url).hostname },
  });
  closing.push(() => core.close());
  await core.services.git.check();
  return { services: core.services, keys: core.kms, rotateKey: core.rotateKey };
}

/** Found out as the server does it, which leaves nothing behind. */
async function isolationHere(): Promise<string> {
  const { deployerFor } = await import('./server/make-services.ts');
  const deployer = deployerFor(settings());
  try {
    const found = await deployer.isolation();
    return 'refused' in found ? `none. ${found.refused}` : `${found.level} (${found.reason})`;
  } catch (error) {
    return `unknown: ${(error as Error).message}`;
  } finally {
    await deployer.close();
  }
}

for (const [name, code] of Object.entries(signals)) {
  process.on(name, () => {
    if (stoppedWith !== undefined) process.exit(code);
    stoppedWith = code;
    stopping.abort(new DomainError('unavailable', 'Cancelled'));
  });
}
// The reader of the output may leave before its end (`portico … | head -1`); what was begun still has to be closed.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

let code: number = await runCli(process.argv.slice(2), {
  open: () => {
    opened ??= openCommandCore();
    return opened;
  },
  settings: () => describeConfig(settings()),
  isolation: isolationHere,
  version,
  screen,
  signal: stopping.signal,
});
for (const close of closing.reverse()) {
  await close().catch((error: Error) => {
    screen.note(`portico: ${error.message}`);
    code ||= exitCodes.failed;
  });
}
// A command that ended before the signal came has done its work.
process.exitCode = code === exitCodes.ok ? code : (stoppedWith ?? code);
