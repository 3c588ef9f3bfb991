import { revokeToken } from '../../domain/identity/tokens.operations.ts';
import { call } from '../call.ts';
import { type Command, required } from '../command.ts';

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
