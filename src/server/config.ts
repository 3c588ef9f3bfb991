import { readFileSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { originProblem, previewUrlOf } from '../domain/studio/previews/preview-origin.ts';
import { faultOf } from '../kernel/parse.ts';
import { assistantSettings, crawlSettings, webhookSettings } from './feature-settings.ts';

const onOff = z.enum(['on', 'off']);
const port = z.coerce.number('must be a port number').int().min(0).max(65_535);
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean),
);
const cidrs = list.refine(
  (items) => items.every((item) => ipaddr.isValidCIDR(item)),
  'must be address ranges such as 10.0.0.0/8, separated by commas',
);
const isOrigin = (text: string) =>
  /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text && !text.includes('*');
const origins = list.refine(
  (items) => items.every(isOrigin),
  'must be origins such as https://app.example.org, without a path, separated by commas',
);
const baseUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .transform((text) => text.replace(/(?<!\/)\/+$/, ''));

/** A length of time as `25`, `25s` or `2min`, in seconds. */
const seconds = z
  .string()
  .regex(/^\d+ *(s|min)?$/, 'must be a number of seconds, such as 25 or 25s')
  .transform((text) => Number.parseInt(text, 10) * (text.endsWith('min') ? 60 : 1));

/** The table of settings: what each may be, what it is without being set, and what it means. */
const setting = z.object({
  PORTICO_HOST: z.string().min(1).default('127.0.0.1').describe('Address to listen on'),
  PORTICO_PORT: port.default(4280).describe('Port of the API; 0 takes any free one'),
  PORTICO_PREVIEW_PORT: port.default(4281).describe('Port of the preview origin; 0 takes any free one'),
  PORTICO_PREVIEW_HOST: z
    .string()
    .toLowerCase()
    .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)*$/, 'must be a host name, without scheme and port')
    .default('localhost')
    .describe('Host of the preview origin'),
  PORTICO_PREVIEW_URL: z
    .string()
    .regex(/^https?:\/\/\*(\.[a-z0-9-]+)+(:\d+)?$/, 'must be of the form https://*.preview.example.com')
    .optional()
    .describe('Public form of the preview origin behind a proxy; default http://*.<PORTICO_PREVIEW_HOST>:<port taken>'),
  PORTICO_PUBLIC_URL: baseUrl.optional().describe('Base of links; default http://localhost:<port taken>'),
  PORTICO_ROLES: z
    .string()
    .default('web,worker')
    .transform((text) => (text === 'all' ? ['web', 'worker'] : text.split(',').map((role) => role.trim())))
    .pipe(z.array(z.enum(['web', 'worker'], 'must be web, worker or both')).min(1))
    .describe('What this process does: web, worker or both'),
  PORTICO_DATA_DIR: z
    .string()
    .min(1)
    .default('.portico')
    .describe('Repositories, blobs, keys and the embedded database'),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' })
    .optional()
    .describe('Any PostgreSQL from 15; default: embedded'),
  PORTICO_DATABASE_POOL: z.coerce
    .number()
    .int()
    .min(2)
    .max(500)
    .default(10)
    .describe('Most database connections of this process'),
  PORTICO_KMS: z.enum(['local', 'aws']).default('local').describe('Where key-encryption keys are kept'),
  PORTICO_KMS_KEY: z.string().min(1).optional().describe('Id, ARN or alias of the key in AWS KMS'),
  PORTICO_KMS_URL: z.url().optional().describe("Endpoint of AWS KMS other than AWS's own"),
  PORTICO_KEYRING_FILE: z.string().min(1).optional().describe('Keyring elsewhere than in the data directory'),
  PORTICO_KMS_ALLOW_MISSING: z
    .enum(['0', '1', 'on', 'off'])
    .default('off')
    .describe('Start although some stored secrets cannot be read'),
  PORTICO_ADMIN_EMAIL: z
    .email('must be an e-mail address')
    .optional()
    .describe('Makes the first account at a start, without the set-up link; with PORTICO_ADMIN_PASSWORD_FILE'),
  PORTICO_ADMIN_PASSWORD: z
    .string()
    .min(12, 'must be at least 12 characters')
    .max(256, 'must be at most 256 characters')
    .optional()
    .describe('Password of the first account; better kept in the file that PORTICO_ADMIN_PASSWORD_FILE names'),
  PORTICO_PASSWORD_SIGN_IN: onOff.default('on').describe('Whether people may sign in with a password'),
  PORTICO_OIDC_ISSUER: z
    .url({ protocol: /^https?$/, error: 'must be an https URL' })
    .regex(
      /^(https:|http:\/\/(localhost|127(\.\d+){3}|\[::1\])(:\d+)?(\/|$))/,
      'must be an https URL; http only on this machine',
    )
    .optional()
    .describe('OpenID provider whose accounts may sign people in; with PORTICO_OIDC_CLIENT_ID'),
  PORTICO_OIDC_CLIENT_ID: z.string().min(1).optional().describe('What the provider knows this server as'),
  PORTICO_OIDC_CLIENT_SECRET: z.string().min(1).optional().describe('Absent for a public client'),
  PORTICO_DEMO: onOff.optional().describe('Import the demo site; default on at the very first start'),
  PORTICO_MEDIA_LIMIT: z.coerce.number().int().min(1).max(100).default(25).describe('Largest media file, MiB'),
  PORTICO_TRUSTED_PROXIES: cidrs.default([]).describe('Ranges of proxies whose X-Forwarded-For counts'),
  PORTICO_CORS_ORIGINS: origins
    .default([])
    .describe('Origins whose pages may use the API with bearer tokens, never with cookies'),
  PORTICO_ALLOWED_CIDRS: cidrs.default([]).describe('Private ranges that outgoing requests may reach'),
  PORTICO_CA_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('Extra root certificates for outgoing requests, and for what builds fetch'),
  PORTICO_SSH_KNOWN_HOSTS: z
    .string()
    .min(1)
    .optional()
    .describe('Keys of the ssh hosts that may be connected to, as OpenSSH keeps them; without it ssh is refused'),
  PORTICO_RATE_LIMIT: z
    .union([z.literal('off'), z.coerce.number().int().min(1)], 'must be off, or a number of at least 1')
    .default('off')
    .describe('Requests a minute per token'),
  PORTICO_AUTH_FAILURE_LIMIT: z.coerce
    .number()
    .int()
    .min(1)
    .default(120)
    .describe('Failed authentications a minute per address block'),
  PORTICO_GRAPHQL_INTROSPECTION: onOff.default('off').describe('Introspection for anonymous callers'),
  PORTICO_METRICS_TOKEN: z
    .string()
    .min(8, 'must be at least 8 characters')
    .optional()
    .describe('Bearer token that /metrics always requires; without it there is no /metrics'),
  PORTICO_METRICS_PORT: port
    .optional()
    .describe('Port of a listener for /metrics alone; 0 takes any free one; default: on the port of the API'),
  PORTICO_LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Least important log level written'),
  PORTICO_REDACT_HEADERS: list.default([]).describe('Further headers never logged'),
  PORTICO_BUILD_ISOLATION: z
    .enum(['auto', 'strict'])
    .default('auto')
    .describe('strict refuses to run build commands as the user of the server'),
  PORTICO_BUILD_SLOTS: z.coerce
    .number('must be a number')
    .int()
    .min(1)
    .max(64)
    .default(Math.max(1, Math.floor(os.availableParallelism() / 2)))
    .describe('Deployments this process runs at the same time; default: half of the cores'),
  PORTICO_BUILD_DIR: z
    .string()
    .optional()
    .describe('Workspaces and package caches; default: builds in the data directory, as root a directory in /var/tmp'),
  ...crawlSettings,
  ...webhookSettings,
  PORTICO_WORKFLOW_CALLS: z.coerce
    .number('must be a number')
    .int()
    .min(1)
    .max(1000)
    .default(50)
    .describe('Steps of workflows that call the outside at the same time, per process'),
  ...assistantSettings,
  PORTICO_AUDIT_DAYS: z.coerce.number().int().min(1).default(365).describe('Days the audit log is kept'),
  PORTICO_DRAIN_DELAY: seconds.default(0).describe('Seconds between unreadiness and closing the listener'),
  PORTICO_SHUTDOWN_TIMEOUT: seconds.default(25).describe('Seconds until an unfinished stop ends the process'),
});

/** All settings of a process, read once at start; names as in the environment. */
type Config = z.output<typeof setting>;

const settingNames = Object.keys(setting.shape) as (keyof Config)[];

export { type Config, settingNames };

const secretNames: readonly string[] = [
  'PORTICO_METRICS_TOKEN',
  'DATABASE_URL',
  'PORTICO_ADMIN_PASSWORD',
  'PORTICO_OIDC_CLIENT_SECRET',
  'PORTICO_ASSISTANT_KEY',
];

/** Faults of the environment, one line each. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** Edit distance (Levenshtein), to name what a misspelt setting may have meant. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, left] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, right] of [...b].entries()) {
      next.push(Math.min((row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1, (row[j] ?? 0) + (left === right ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

function readFiles(environment: NodeJS.ProcessEnv, faults: string[]): Record<string, string> {
  const values: Record<string, string> = {};
  for (const name of settingNames) {
    const file = environment[`${name}_FILE`];
    if (environment[name]) values[name] = environment[name];
    if (!file) continue;
    try {
      values[name] = readFileSync(file, 'utf8').trim();
    } catch (error) {
      faults.push(`${name}_FILE: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`);
    }
  }
  return values;
}

/** Of AWS KMS, whose client reads these itself. */
const credentialFiles = ['AWS_SHARED_CREDENTIALS_FILE', 'AWS_WEB_IDENTITY_TOKEN_FILE'];

/** Files outside of the data directory that hold secrets: the keyring, and what the environment names. */
export function secretFilesOf({ PORTICO_KEYRING_FILE: keyring }: Config, environment: NodeJS.ProcessEnv): string[] {
  const names = [...settingNames.map((name) => `${name}_FILE`), ...credentialFiles];
  const files = [keyring, ...names.map((name) => environment[name])];
  return files.flatMap((file) => (file ? [path.resolve(file)] : []));
}

/** Whether a directory is at the path, or one could be made there: false when it, or something on the way to it, is a file. */
function canBeDirectory(place: string): boolean {
  try {
    return statSync(place).isDirectory();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOTDIR';
  }
}

/** The form of the preview origin's addresses when its listener has a port. */
export const previewUrlFor = (config: Config, port = config.PORTICO_PREVIEW_PORT): string =>
  config.PORTICO_PREVIEW_URL ?? previewUrlOf(config.PORTICO_PREVIEW_HOST, port);

function previewFaults(config: Config): string[] {
  const problem = originProblem(config.PORTICO_PUBLIC_URL ?? 'http://localhost', previewUrlFor(config));
  const name = config.PORTICO_PREVIEW_URL === undefined ? 'PORTICO_PREVIEW_HOST' : 'PORTICO_PREVIEW_URL';
  return problem === null ? [] : [`${name}: ${problem}`];
}

function adminFaults({ PORTICO_ADMIN_EMAIL: email, PORTICO_ADMIN_PASSWORD: password }: Config): string[] {
  if ((email === undefined) === (password === undefined)) return [];
  return ['PORTICO_ADMIN_EMAIL: needs PORTICO_ADMIN_PASSWORD_FILE, and that needs it: set both, or neither'];
}

function providerFaults(config: Config): string[] {
  const { PORTICO_OIDC_ISSUER: issuer, PORTICO_OIDC_CLIENT_ID: id, PORTICO_PASSWORD_SIGN_IN: password } = config;
  if ((issuer === undefined) !== (id === undefined))
    return ['PORTICO_OIDC_ISSUER: needs PORTICO_OIDC_CLIENT_ID, and that needs it: set both, or neither'];
  if (password === 'off' && issuer === undefined)
    return ['PORTICO_PASSWORD_SIGN_IN: off leaves no way to sign in; set PORTICO_OIDC_ISSUER'];
  return [];
}

function modelFaults(config: Config): string[] {
  const { PORTICO_ASSISTANT_PROVIDER: provider, PORTICO_ASSISTANT_URL: url, PORTICO_ASSISTANT_MODEL: model } = config;
  if (model === undefined) return url === undefined ? [] : ['PORTICO_ASSISTANT_URL: needs PORTICO_ASSISTANT_MODEL'];
  return provider === 'openai' && url === undefined ? ['PORTICO_ASSISTANT_MODEL: needs PORTICO_ASSISTANT_URL'] : [];
}

/**
 * Reads the settings from an environment; `<NAME>_FILE` reads a value from a file, an empty value counts as absent.
 * @returns the settings and a warning for each unknown `PORTICO_*` name.
 * @throws ConfigError with one line per fault.
 */
export function readConfig(environment: NodeJS.ProcessEnv): { config: Config; warnings: string[] } {
  const faults: string[] = [];
  const parsed = setting.safeParse(readFiles(environment, faults), { reportInput: true });
  // A list with several wrong items is one fault of one setting.
  const wrong = (parsed.error?.issues ?? []).map((issue) => `${String(issue.path[0])}: ${faultOf(issue)}`);
  faults.push(...new Set(wrong));
  const dataDir = parsed.data && path.resolve(parsed.data.PORTICO_DATA_DIR);
  if (dataDir !== undefined && !canBeDirectory(dataDir)) faults.push(`PORTICO_DATA_DIR: ${dataDir} is not a directory`);
  if (parsed.success)
    faults.push(
      ...previewFaults(parsed.data),
      ...adminFaults(parsed.data),
      ...providerFaults(parsed.data),
      ...modelFaults(parsed.data),
    );
  if (!parsed.success || faults.length > 0) throw new ConfigError(faults.join('\n'));
  const known = new Set(settingNames.flatMap((name) => [name as string, `${name}_FILE`]));
  const warnings = Object.keys(environment)
    .filter((name) => name.startsWith('PORTICO_') && !known.has(name))
    .map((name) => {
      const nearest = settingNames.toSorted((a, b) => distance(name, a) - distance(name, b))[0];
      return `${name} is not a setting; did you mean ${nearest}?`;
    });
  if (parsed.data.PORTICO_METRICS_PORT !== undefined && parsed.data.PORTICO_METRICS_TOKEN === undefined)
    warnings.push(
      'PORTICO_METRICS_PORT is set without PORTICO_METRICS_TOKEN: every request for /metrics is answered 404',
    );
  return { config: { ...parsed.data, PORTICO_DATA_DIR: path.resolve(parsed.data.PORTICO_DATA_DIR) }, warnings };
}

/** The effective settings for people, secrets masked. */
export function describeConfig(config: Config): Record<string, unknown> {
  return Object.fromEntries(
    settingNames.map((name) => [
      name,
      config[name] !== undefined && secretNames.includes(name) ? '********' : (config[name] ?? null),
    ]),
  );
}
