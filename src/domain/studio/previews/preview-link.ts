import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import { timestamp } from '../../../kernel/shapes.ts';
import { holderOf } from '../../identity/authenticate.ts';
import type { StudioContext } from '../studio.ts';
import { linkParameter, type PassUse, passSeconds } from './preview-access.ts';
import { isTrustworthy } from './preview-origin.ts';
import { labelUrl } from './previews.ts';

export const previewLink = z
  .object({
    url: z.string().describe('Opens the page, once: each tab and each frame needs a link of its own'),
    expires_at: timestamp.nullable().describe('Until when it opens; null where no link is needed'),
    embeddable: z.boolean().describe('It may be shown in a frame of the dashboard'),
  })
  .meta({ id: 'PreviewLink' });
export type PreviewLink = z.output<typeof previewLink>;

/** An address everybody may open. @param path path and query on the site */
export function publicLink({ settings }: Services, label: string, path: string): PreviewLink {
  return { url: labelUrl(settings, label) + path, expires_at: null, embeddable: isTrustworthy(settings.preview_url) };
}

type Asking = Pick<StudioContext, 'services' | 'studio' | 'actor' | 'em'>;

/**
 * An address that opens what only members see, for who asks, once and within a minute.
 * @param path path and query on the site
 * @throws DomainError `forbidden` for an actor whose rights cannot be found again
 */
export async function memberLink(
  asking: Asking,
  label: string,
  path: string,
  use: PassUse = 'view',
): Promise<PreviewLink> {
  const { services, studio, actor, em } = asking;
  const { access } = studio.previews;
  const holder = holderOf(actor);
  if (!(await access.canHold(holder, em)))
    throw new DomainError('forbidden', 'Only a token or a person can be given a link to a members’ preview');
  const { url, embeddable } = publicLink(services, label, path);
  const pass = await access.makeLink(label, holder, use);
  const expires_at = new Date(services.clock.now().getTime() + passSeconds.link * 1000);
  return { url: `${url}${path.includes('?') ? '&' : '?'}${linkParameter}=${pass}`, expires_at, embeddable };
}
