import { type DestinationStream, pino, stdSerializers } from 'pino';
import { redactText } from '../lib/text.ts';
import type { Log } from '../ports/log.ts';

const secretKeys = [
  'password',
  'secret',
  'token',
  'authorization',
  'cookie',
  'set-cookie',
  'setup',
  'proxy-authorization',
];

/** Hides values by their key, at any depth the log prints. */
function redactKeys(value: unknown, hidden: ReadonlySet<string>, depth = 0): unknown {
  if (value === null || typeof value !== 'object' || value instanceof Error || depth > 6) return value;
  if (Array.isArray(value)) return value.map((item) => redactKeys(item, hidden, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      hidden.has(key.toLowerCase()) && item != null ? '[redacted]' : redactKeys(item, hidden, depth + 1),
    ]),
  );
}

/** What is logged of an error: an object that hangs on one (a connection, a request) can hold anything, and stays out. */
function errorFields(error: unknown, hidden: ReadonlySet<string>): unknown {
  if (!(error instanceof Error)) return redactKeys(error, hidden);
  const fields = Object.entries(stdSerializers.err(error));
  const plain = fields.filter(([key, value]) => key === 'details' || Object(value) !== value);
  const errors = error instanceof AggregateError && error.errors.map((one) => errorFields(one, hidden));
  return { ...(redactKeys(Object.fromEntries(plain), hidden) as object), ...(errors && { errors }) };
}

/**
 * The process's log: one JSON line per event, redacted here so that no call site has to.
 * @param destination standard output unless a test listens.
 */
export function createLog(options: {
  level: string;
  redactHeaders: readonly string[];
  destination?: DestinationStream;
}): Log {
  const hidden = new Set([...secretKeys, ...options.redactHeaders.map((name) => name.toLowerCase())]);
  const settings = {
    level: options.level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: Record<string, unknown>) => redactKeys(fields, hidden) as Record<string, unknown>,
    },
    serializers: { err: (error: unknown) => errorFields(error, hidden) },
    hooks: { streamWrite: redactText },
  };
  if (options.destination) return pino(settings, options.destination);
  // Lines that come while some are being written share the next write; what is left is written when the process exits.
  if (!process.stdout.isTTY) return pino(settings, pino.destination({ sync: false }));
  return pino({
    ...settings,
    transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname', translateTime: 'HH:MM:ss' } },
  });
}
