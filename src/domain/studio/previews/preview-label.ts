import type { Settings } from '../../services.ts';

/** Characters of an environment's slug that its label can hold: a DNS label has 63 (RFC 1035 2.3.4). */
const slugLength = 50;

/**
 * First part of the host an environment is published under. The last digits of the uuid: the first ones of a time-ordered uuid are the
 * same for all that were made within a minute.
 */
export function environmentLabel({ slug, uuid }: { slug: string; uuid: string }): string {
  return `${slug.slice(0, slugLength)}-${uuid.slice(-8)}`;
}

/** First part of the host of one deployment. No slug has `--` there, so the two never meet. */
export const deploymentLabel = (id: number): string => `d--${id}`;

/** First part of the host of a crawler's live copy. */
export const crawlerLabel = (id: number): string => `c--${id}`;

/** First part of the host of one snapshot of a crawled site. */
export const snapshotLabel = (id: number): string => `s--${id}`;

/** What a label can stand for. Its parts are as the caller sent them: whether there is such a thing is another question. */
export type PreviewLabel =
  | { slug: string; uuid_end: string }
  | { deployment_id: number }
  | { crawler_id: number }
  | { snapshot_id: number };

/** Takes a label apart; null when it has none of the forms above. */
export function parseLabel(label: string): PreviewLabel | null {
  const numbered = /^([dcs])--([1-9]\d{0,8})$/.exec(label);
  const id = Number(numbered?.[2]);
  if (numbered?.[1] === 'd') return { deployment_id: id };
  if (numbered?.[1] === 'c') return { crawler_id: id };
  if (numbered?.[1] === 's') return { snapshot_id: id };
  const environment = /^([a-z0-9][a-z0-9-]{0,49})-([0-9a-f]{8})$/.exec(label);
  return environment && { slug: environment[1] ?? '', uuid_end: environment[2] ?? '' };
}

/** Address of a label on the preview origin, without a trailing slash. */
export const labelUrl = (settings: Settings, label: string): string => settings.preview_url.replace('*', label);
