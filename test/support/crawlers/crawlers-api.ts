import { expect } from 'vitest';
import { type Answer, acme, type TestApp } from '../app.ts';

export const crawlers = `${acme}/projects/site/crawlers`;

/** Calls of an application's crawlers, as a test writes them. */
export interface CrawlersApi {
  create(body: object, token?: string): Promise<Answer>;
  change(name: string | number, body: object, token?: string): Promise<Answer>;
  read(name: string | number, token?: string): Promise<Answer>;
  /** A new crawler; its domain is not verified. */
  made(body: object): Promise<Answer['body']>;
}

export function crawlersApi(app: () => TestApp): CrawlersApi {
  const ask = (method: string, path: string, body?: object, token?: string) =>
    app().ask(method, path, { ...(body && { body }), ...(token !== undefined && { token }) });
  const create: CrawlersApi['create'] = (body, token) => ask('POST', crawlers, body, token);
  return {
    create,
    change: (name, body, token) => ask('PATCH', `${crawlers}/${name}`, body, token),
    read: (name, token) => ask('GET', `${crawlers}/${name}`, undefined, token),
    async made(body) {
      const answer = await create({ domain: 'https://www.example.com', ...body });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body;
    },
  };
}
