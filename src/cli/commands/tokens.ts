import { createToken, listTokens, revokeToken } from '../../domain/identity/tokens.operations.ts';
import { permissionNames } from '../../kernel/actor.ts';
import { maxPerPage } from '../../kernel/paging.ts';
import { type Command, call, optional, repeated, required, UsageError } from '../command.ts';
import { table } from '../screen.ts';

/** `portico token create`: how to come by a token without the demo, or after losing it. The token alone is the result. */
export const tokenCreate: Command = {
  name: 'token create',
  summary: 'Create an API token and print it',
  synopsis: '--organization <name> (--preset <preset> | --permission <permission> …) [options]',
  notes: [
    ['--organization <name>', 'machine name'],
    ['--preset <preset>', 'owner, admin, editor or readonly'],
    ['--permission <permission>', `repeatable; one of ${permissionNames.join(', ')}`],
    ['--project <name>', 'repeatable; confines it to these projects; default: all, later ones included'],
    ['--expires <time>', '30d, 90d (default), 365d or never'],
    ['--name <text>', 'what it is for; default: Command line'],
  ],
  options: {
    organization: { type: 'string' },
    project: { type: 'string', multiple: true },
    preset: { type: 'string' },
    permission: { type: 'string', multiple: true },
    expires: { type: 'string' },
    name: { type: 'string' },
  },
  words: [0, 0],
  async run(_words, values, { open, screen }) {
    const organization = required(values, 'organization');
    const preset = optional(values, 'preset');
    const permissions = repeated(values, 'permission');
    if ((preset === undefined) === (permissions === undefined))
      throw new UsageError('Give either --preset or --permission');
    const projects = repeated(values, 'project');
    const expires_in = optional(values, 'expires');
    const { services } = await open();
    const made = await call(services, createToken, {
      organization,
      name: optional(values, 'name') ?? 'Command line',
      ...(preset !== undefined && { preset }),
      ...(permissions && { permissions }),
      ...(projects && { projects }),
      ...(expires_in !== undefined && { expires_in }),
    });
    screen.print(made.token);
    const scope = made.projects ? `${organization}/{${made.projects.join(',')}}` : `all of ${organization}`;
    screen.note(`Token ${made.id} for ${scope}, expires ${made.expires_at ?? 'never'}. It is shown only here.`);
  },
};

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

/** `portico token revoke`: holds in running servers at once. */
export const tokenRevoke: Command = {
  name: 'token revoke',
  summary: 'Revoke an API token at once',
  synopsis: '<id> --organization <name>',
  options: { organization: { type: 'string' } },
  words: [1, 1],
  async run([token_id = ''], values, { open, screen }) {
    const organization = required(values, 'organization');
    const { services } = await open();
    const { message } = await call(services, revokeToken, { organization, token_id });
    screen.print(message);
  },
};
