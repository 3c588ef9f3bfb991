import { z } from 'zod';
import type { CrawlLimits } from '../domain/crawlers/config/crawl-limits.ts';
import { parseTrustedDomain } from '../domain/crawlers/verification/trusted-domains.ts';
import type { WebhookLimits } from '../domain/workflows/workflows.ts';

const items = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);

const units: Record<string, number> = { '': 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

/** A size as `1048576`, `100 MiB` or `20GiB`, in bytes. */
const bytes = z
  .string()
  .regex(/^\d{1,12} *([KMGT]iB)?$/, 'must be a number of bytes, such as 104857600 or 100MiB')
  .transform((text) => Number.parseInt(text, 10) * (units[/[A-Za-z]+$/.exec(text)?.[0] ?? ''] ?? 1));

const count = (least: number) =>
  z.coerce
    .number('must be a number')
    .int()
    .min(least)
    .max(2 ** 31 - 1);

const trusted = z.string().transform((text, context) =>
  items(text).map((entry) => {
    const domain = parseTrustedDomain(entry);
    if (domain) return domain;
    context.addIssue({ code: 'custom', message: `"${entry}" is not of the form host, host:port or *.host` });
    return z.NEVER;
  }),
);

const ports = z
  .string()
  .transform((text) => items(text).map(Number))
  .refine((all) => all.length > 0 && all.every((port) => Number.isInteger(port) && port > 0 && port < 65_536), {
    error: 'must be port numbers, separated by commas',
  });

/** A number of minutes as `60` or `60min`. */
const minutes = z
  .string()
  .regex(/^\d{1,5} *(min)?$/, 'must be a number of minutes, such as 60 or 60min')
  .transform((text) => Number.parseInt(text, 10));

const resolver = /^(\d{1,3}(\.\d{1,3}){3}(:\d{1,5})?|[0-9a-f:]+|\[[0-9a-f:]+\](:\d{1,5})?)$/i;

/** The settings of the assistant's model among those of a process. */
export const assistantSettings = {
  PORTICO_ASSISTANT_PROVIDER: z
    .enum(['openai', 'anthropic'])
    .default('openai')
    .describe("Protocol of the assistant's model: any endpoint compatible with OpenAI's, or Anthropic's"),
  PORTICO_ASSISTANT_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .transform((text) => text.replace(/(?<!\/)\/+$/, ''))
    .optional()
    .describe("Base of the model's API, such as http://127.0.0.1:11434/v1; default of anthropic: Anthropic's own"),
  PORTICO_ASSISTANT_MODEL: z.string().min(1).optional().describe('Name of the model; without it there is no assistant'),
  PORTICO_ASSISTANT_KEY: z.string().min(1).optional().describe('Key of the provider; a local model needs none'),
  PORTICO_ASSISTANT_ORG_URL: z
    .enum(['on', 'off'])
    .default('off')
    .describe('Whether organisations may name the address of a model of their own, in public networks'),
  PORTICO_ASSISTANT_MAX_TOKENS: count(256).max(200_000).default(8_192).describe('Most tokens of one answer'),
  PORTICO_ASSISTANT_REPLIES: count(1)
    .max(1_000)
    .default(128)
    .describe('Conversations a process replies in at once, half of them for one person at most; the others wait'),
};

/** The settings of crawls among those of a process. */
export const crawlSettings = {
  PORTICO_TRUSTED_DOMAINS: trusted
    .default([])
    .describe('Domains that count as verified for crawlers: host, host:port or *.host'),
  PORTICO_DNS_SERVERS: z
    .string()
    .transform(items)
    .refine((all) => all.every((one) => resolver.test(one)), 'must be addresses such as 9.9.9.9 or 127.0.0.1:5353')
    .default([])
    .describe('Resolvers that domain verification asks; default: those of the system'),
  PORTICO_CRAWL_MAX_HTML: count(0).default(500).describe('HTML pages of a crawler that says nothing; 0: no limit'),
  PORTICO_CRAWL_MAX_DEPTH: count(0).default(1_000).describe('Link hops of a crawl without a limit'),
  PORTICO_CRAWL_MAX_BODY_BYTES: bytes.default(100 * 2 ** 20).describe('Largest body a crawl stores'),
  PORTICO_CRAWL_MAX_PAGE_TIMEOUT: count(1).max(86_400).default(300).describe('Seconds a page may take in a browser'),
  PORTICO_CRAWL_QUOTA_BYTES: bytes.optional().describe('Bytes of snapshots per organisation'),
  PORTICO_CRAWL_PORTS: ports.default([80, 443, 8080, 8443]).describe('Ports crawls may reach'),
  PORTICO_CRAWL_STRIP_PARAMS: z
    .string()
    .transform(items)
    .default(['utm_*', 'gclid', 'fbclid'])
    .describe('Parameters taken off the addresses that crawls find'),
  PORTICO_SCHEDULE_GRACE: minutes.default(60).describe('Minutes a schedule may run late after a time without server'),
  PORTICO_CHROMIUM_PATH: z.string().min(1).optional().describe('Chromium of crawls in browser mode'),
  PORTICO_CHROMIUM_NO_SANDBOX: z
    .enum(['0', '1', 'on', 'off'])
    .default('off')
    .describe('Run it without its sandbox, where the kernel offers none'),
};

const shape = z.object(crawlSettings);

/** The settings of crawls as the domain takes them. */
export const crawlLimitsOf = (config: z.output<typeof shape>): CrawlLimits => ({
  trusted_domains: config.PORTICO_TRUSTED_DOMAINS,
  max_html: config.PORTICO_CRAWL_MAX_HTML,
  max_depth: config.PORTICO_CRAWL_MAX_DEPTH,
  max_body_bytes: config.PORTICO_CRAWL_MAX_BODY_BYTES,
  max_page_timeout: config.PORTICO_CRAWL_MAX_PAGE_TIMEOUT,
  quota_bytes: config.PORTICO_CRAWL_QUOTA_BYTES ?? null,
  ports: config.PORTICO_CRAWL_PORTS,
  strip_params: config.PORTICO_CRAWL_STRIP_PARAMS,
});

const webhookSize = bytes.refine((size) => size >= 1024 && size <= 2 ** 30, 'must be 1KiB to 1GiB');

/** The settings of webhooks among those of a process. */
export const webhookSettings = {
  PORTICO_WEBHOOK_BODY_LIMIT: webhookSize
    .default(25 * 2 ** 20)
    .describe('Largest body of a webhook call, before and after it is inflated'),
  PORTICO_WEBHOOK_MEMORY: webhookSize
    .default(256 * 2 ** 20)
    .describe('Bodies of webhook calls a process holds at the same time'),
  PORTICO_WORKFLOW_BACKLOG: z.coerce
    .number('must be a number')
    .int()
    .min(0)
    .max(10_000_000)
    .default(100_000)
    .describe('Pending executions of an organisation above which its webhooks answer 429'),
};

type WebhookConfig = { [Name in keyof typeof webhookSettings]: z.output<(typeof webhookSettings)[Name]> };

/** The same for the domain. */
export const webhookLimitsOf = (config: WebhookConfig & { PORTICO_REDACT_HEADERS: string[] }): WebhookLimits => ({
  body_bytes: config.PORTICO_WEBHOOK_BODY_LIMIT,
  memory_bytes: config.PORTICO_WEBHOOK_MEMORY,
  backlog: config.PORTICO_WORKFLOW_BACKLOG,
  redact_headers: config.PORTICO_REDACT_HEADERS.map((name) => name.toLowerCase()),
});
