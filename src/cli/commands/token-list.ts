import { listTokens } from '../../domain/identity/tokens.operations.ts';
import { maxPerPage } from '../../domain/paging.ts';
import { call } from '../call.ts';
import { type Command, required } from '../command.ts';
import { table } from '../screen.ts';

/** `portico token list` */
export const tokenList: Command = {
  name: 'token list',
  summary: 'List the API tokens of an organisation',
  synopsis: '--organization <name>',
  options: { organization: { type: 'string' } },
  words: [0, 0],
  async run(_words, values, { open, screen }) {
    const organization = required(values, 'organization');
    const { services } = await open();
    const rows = [['ID', 'NAME', 'ENDS WITH', 'RIGHTS', 'PROJECTS', 'EXPIRES', 'LAST USED']];
    for (let page = 1; ; page++) {
      const found = await call(services, listTokens, { organization, page, per_page: maxPerPage });
      for (const token of found.items)
        rows.push([
          String(token.id),
          token.name,
          token.last4,
          token.preset ?? token.permissions.join(','),
          token.projects?.join(',') ?? 'all',
          token.expires_at?.slice(0, 10) ?? 'never',
          token.last_used?.slice(0, 16).replace('T', ' ') ?? 'never',
        ]);
      if (!found.has_next_page) break;
    }
    for (const line of table(rows)) screen.print(line);
  },
};
