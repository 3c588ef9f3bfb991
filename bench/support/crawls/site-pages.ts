import { createHash } from 'node:crypto';
import { seeded } from '../statistics.ts';

const bytes = 15 * 1024;
const words = Array.from({ length: 4_000 }, (_, index) =>
  createHash('sha256')
    .update(`word ${index}`)
    .digest('base64url')
    .slice(0, 3 + (index % 7)),
);

export interface SitePage {
  body: Buffer;
  etag: string;
}

const addressOf = (at: number): string => (at === 0 ? '/' : `/docs/page-${at}.html`);

/** Its children in a tree of ten branches, its neighbours, and some pages by chance: what pages of documentation link to. */
function linksOf(at: number, pages: number, random: () => number): number[] {
  const children = Array.from({ length: 10 }, (_, branch) => at * 10 + branch + 1);
  const chance = Array.from({ length: 8 }, () => Math.floor(random() * pages));
  return [...children, at - 1, at + 1, ...chance].filter((to) => to >= 0 && to < pages && to !== at);
}

function pageOf(at: number, pages: number, edition: number): SitePage {
  const random = seeded(at * 7919 + edition);
  const links = linksOf(at, pages, random).map((to) => `<li><a href="${addressOf(to)}">Page ${to}</a></li>`);
  const head = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Page ${at}</title></head><body><h1>Page ${at}, edition ${edition}</h1><nav><ul>${links.join('')}</ul></nav>`;
  const parts = [head];
  for (let size = head.length; size < bytes; ) {
    const text = Array.from({ length: 60 }, () => words[Math.floor(random() * words.length)]).join(' ');
    const paragraph = `<p>${text.replace(/^\S+/, '<em>$&</em>')}.</p>\n`;
    parts.push(paragraph);
    size += paragraph.length;
  }
  const body = Buffer.from(`${parts.join('')}</body></html>`);
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 16)}"` };
}

/** A site of so many pages of some 15 KiB without assets, by address; each edition has other texts. */
export function sitePages(pages: number, edition: number): Map<string, SitePage> {
  return new Map(Array.from({ length: pages }, (_, at) => [addressOf(at), pageOf(at, pages, edition)]));
}
