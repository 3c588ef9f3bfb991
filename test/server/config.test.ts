import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError, describeConfig, readConfig, settingNames } from '../../src/server/config.ts';

const directory = mkdtempSync(path.join(tmpdir(), 'portico-config-'));
afterAll(() => rmSync(directory, { recursive: true }));
const fileOf = (name: string, text: string) => {
  const file = path.join(directory, name);
  writeFileSync(file, text);
  return file;
};
const faultsOf = (environment: Record<string, string>): string[] => {
  try {
    readConfig(environment);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message.split('\n');
  }
  return [];
};

describe('the settings', () => {
  it('are those of docs/settings.md', () => {
    const guide = readFileSync(path.resolve(import.meta.dirname, '../../docs/settings.md'), 'utf8');
    const rows = guide.split('\n').filter((line) => line.startsWith('| `'));
    const listed = rows.flatMap((row) => row.split('|')[1]?.match(/\w+/g) ?? []);
    const names = listed.map((name) => (name === 'PORTICO_ADMIN_PASSWORD_FILE' ? 'PORTICO_ADMIN_PASSWORD' : name));
    expect(names.toSorted()).toEqual([...settingNames].toSorted());
  });

  it('are whole without an environment', () => {
    const { config, warnings } = readConfig({});
    expect(config).toMatchObject({
      PORTICO_HOST: '127.0.0.1',
      PORTICO_PORT: 4280,
      PORTICO_PREVIEW_PORT: 4281,
      PORTICO_ROLES: ['web', 'worker'],
      PORTICO_DATA_DIR: path.resolve('.portico'),
      PORTICO_DATABASE_POOL: 10,
      PORTICO_RATE_LIMIT: 'off',
      PORTICO_AUTH_FAILURE_LIMIT: 120,
      PORTICO_AUDIT_DAYS: 365,
      PORTICO_DRAIN_DELAY: 0,
      PORTICO_SHUTDOWN_TIMEOUT: 25,
    });
    expect(warnings).toEqual([]);
  });

  it('take an empty value for an absent one', () => {
    expect(readConfig({ PORTICO_PORT: '', PORTICO_DEMO: '' }).config).toMatchObject({ PORTICO_PORT: 4280 });
  });

  it.each([
    ['PORTICO_ROLES', 'all', ['web', 'worker']],
    ['PORTICO_ROLES', 'worker', ['worker']],
    ['PORTICO_ROLES', ' web , worker ', ['web', 'worker']],
    ['PORTICO_PUBLIC_URL', 'https://example.org//', 'https://example.org'],
    ['PORTICO_PORT', '0', 0],
    ['PORTICO_RATE_LIMIT', '600', 600],
    ['PORTICO_RATE_LIMIT', 'off', 'off'],
    ['PORTICO_SHUTDOWN_TIMEOUT', '90s', 90],
    ['PORTICO_SHUTDOWN_TIMEOUT', '2min', 120],
    ['PORTICO_ALLOWED_CIDRS', '10.0.0.0/8, fd00::/8', ['10.0.0.0/8', 'fd00::/8']],
  ] as const)('read %s=%s', (name, text, value) => {
    expect(readConfig({ [name]: text }).config[name]).toEqual(value);
  });

  it.each([
    ['PORTICO_PORT', 'http'],
    ['PORTICO_PORT', '65536'],
    ['PORTICO_PORT', '-1'],
    ['PORTICO_PORT', '80.5'],
    ['PORTICO_PUBLIC_URL', 'example.org'],
    ['PORTICO_PUBLIC_URL', 'ftp://example.org'],
    ['PORTICO_ROLES', 'web,queen'],
    ['DATABASE_URL', 'mysql://localhost/x'],
    ['PORTICO_DEMO', 'yes'],
    ['PORTICO_LOG_LEVEL', 'loud'],
    ['PORTICO_METRICS_TOKEN', 'short'],
    ['PORTICO_ALLOWED_CIDRS', '10.0.0.0'],
    ['PORTICO_RATE_LIMIT', '0'],
    ['PORTICO_RATE_LIMIT', 'fast'],
    ['PORTICO_AUTH_FAILURE_LIMIT', '0'],
    ['PORTICO_AUDIT_DAYS', 'forever'],
    ['PORTICO_SHUTDOWN_TIMEOUT', '-5'],
    ['PORTICO_SHUTDOWN_TIMEOUT', '1h'],
  ])('refuse %s=%s in one line that names it', (name, text) => {
    const faults = faultsOf({ [name]: text });
    expect(faults).toEqual([expect.stringMatching(new RegExp(`^${name}[^:]*: .{5,}`))]);
  });

  it.each([
    ['PORTICO_DATABASE_POOL', '1', 'must be at least 2'],
    ['PORTICO_DATABASE_POOL', '501', 'must be at most 500'],
    ['PORTICO_DATABASE_POOL', '2.5', 'must be an integer'],
    ['PORTICO_AUDIT_DAYS', 'forever', 'must be a number'],
    ['PORTICO_PORT', 'http', 'must be a port number'],
    ['PORTICO_DEMO', 'yes', 'must be one of on, off'],
    ['PORTICO_ROLES', 'queen,king', 'must be web, worker or both'],
    ['PORTICO_RATE_LIMIT', 'fast', 'must be off, or a number of at least 1'],
    [
      'PORTICO_CORS_ORIGINS',
      '*',
      'must be origins such as https://app.example.org, without a path, separated by commas',
    ],
    [
      'PORTICO_CORS_ORIGINS',
      'https://a.example/',
      'must be origins such as https://app.example.org, without a path, separated by commas',
    ],
    [
      'PORTICO_CORS_ORIGINS',
      'https://a.example,b.example',
      'must be origins such as https://app.example.org, without a path, separated by commas',
    ],
    [
      'PORTICO_CORS_ORIGINS',
      'https://*.example.org',
      'must be origins such as https://app.example.org, without a path, separated by commas',
    ],
    [
      'PORTICO_CORS_ORIGINS',
      'https://a.example:443',
      'must be origins such as https://app.example.org, without a path, separated by commas',
    ],
    [
      'PORTICO_CORS_ORIGINS',
      'null',
      'must be origins such as https://app.example.org, without a path, separated by commas',
    ],
    ['PORTICO_PUBLIC_URL', 'example.org', 'must be an http or https URL'],
  ])('say of %s=%s that it %s', (name, text, fault) => {
    expect(faultsOf({ [name]: text })).toEqual([`${name}: ${fault}`]);
  });

  it('refuse a file where the data directory is to be, or a directory above it', () => {
    const file = fileOf('file', '');
    const below = path.join(file, 'data');
    expect(faultsOf({ PORTICO_DATA_DIR: file })).toEqual([`PORTICO_DATA_DIR: ${file} is not a directory`]);
    expect(faultsOf({ PORTICO_DATA_DIR: below })).toEqual([`PORTICO_DATA_DIR: ${below} is not a directory`]);
    expect(faultsOf({ PORTICO_DATA_DIR: directory })).toEqual([]);
    expect(faultsOf({ PORTICO_DATA_DIR: path.join(directory, 'new', 'data') })).toEqual([]);
  });

  it('name every fault, a line each', () => {
    const faults = faultsOf({
      PORTICO_PORT: 'x',
      PORTICO_DEMO: 'x',
      PORTICO_KEYRING_FILE: '',
      PORTICO_CA_FILE_FILE: '/nowhere',
    });
    expect(faults.map((line) => line.split(':')[0]).sort()).toEqual([
      'PORTICO_CA_FILE_FILE',
      'PORTICO_DEMO',
      'PORTICO_PORT',
    ]);
  });

  it('come from files, without the line end', () => {
    const file = fileOf('token', 'metrics-secret\n');
    expect(readConfig({ PORTICO_METRICS_TOKEN_FILE: file }).config.PORTICO_METRICS_TOKEN).toBe('metrics-secret');
    expect(readConfig({ PORTICO_METRICS_TOKEN_FILE: file }).warnings).toEqual([]);
  });

  it('report a file that cannot be read', () => {
    const missing = path.join(directory, 'none');
    expect(faultsOf({ DATABASE_URL_FILE: missing })).toEqual([`DATABASE_URL_FILE: ${missing} cannot be read (ENOENT)`]);
    expect(faultsOf({ DATABASE_URL_FILE: directory })).toEqual([
      `DATABASE_URL_FILE: ${directory} cannot be read (EISDIR)`,
    ]);
  });

  it('never show what was in the file of a secret', () => {
    const file = fileOf('url', 'mysql://user:hunter2@db/x');
    expect(faultsOf({ DATABASE_URL_FILE: file }).join('\n')).not.toContain('hunter2');
    expect(faultsOf({ PORTICO_METRICS_TOKEN: 'hunter2' }).join('\n')).not.toContain('hunter2');
  });

  it.each([
    ['PORTICO_PROT', 'PORTICO_PORT'],
    ['PORTICO_DATADIR', 'PORTICO_DATA_DIR'],
    ['PORTICO_LOGLEVEL', 'PORTICO_LOG_LEVEL'],
    ['PORTICO_PUBLIC_URI', 'PORTICO_PUBLIC_URL'],
    ['PORTICO_RATELIMIT_FILE', 'PORTICO_RATE_LIMIT'],
  ])('warn of %s and name %s', (name, nearest) => {
    expect(readConfig({ [name]: 'x' }).warnings).toEqual([
      expect.stringContaining(`${name} is not a setting; did you mean ${nearest}`),
    ]);
  });

  it('warn of a port for metrics that could answer no request', () => {
    const [warning] = readConfig({ PORTICO_METRICS_PORT: '0' }).warnings;
    expect(warning).toContain('PORTICO_METRICS_PORT is set without PORTICO_METRICS_TOKEN');
    const both = readConfig({ PORTICO_METRICS_PORT: '9100', PORTICO_METRICS_TOKEN: 'metrics-secret' });
    expect([both.warnings, both.config.PORTICO_METRICS_PORT]).toEqual([[], 9100]);
    expect(readConfig({}).config.PORTICO_METRICS_PORT).toBeUndefined();
  });

  it('say nothing of other programs’ variables', () => {
    expect(readConfig({ PATH: '/bin', POTRICO_PORT: '1', portico_port: '2' }).warnings).toEqual([]);
  });

  it('are shown with secrets masked', () => {
    const environment = { PORTICO_METRICS_TOKEN: 'metrics-secret', DATABASE_URL: 'postgres://user:hunter2@db/x' };
    const shown = describeConfig(readConfig(environment).config);
    expect(Object.keys(shown)).toEqual(settingNames);
    expect(JSON.stringify(shown)).not.toMatch(/metrics-secret|hunter2/);
    expect(shown).toMatchObject({ PORTICO_METRICS_TOKEN: '********', PORTICO_PORT: 4280, PORTICO_DEMO: null });
  });
});
