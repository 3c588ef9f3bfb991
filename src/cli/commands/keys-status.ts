import { checkKeys, countByKek } from '../../domain/keys/check-keys.ts';
import type { Command } from '../command.ts';
import { table } from '../screen.ts';

/** `portico keys status` */
export const keysStatus: Command = {
  name: 'keys status',
  summary: 'Show the key-encryption keys and how many data keys each holds',
  synopsis: '',
  options: {},
  words: [0, 0],
  async run(_words, _values, { open, screen }) {
    const { services, keys } = await open();
    const em = services.orm.em.fork();
    const counts = await countByKek(em);
    const { provider, location, keys: known } = await keys.describe([...counts.keys()]);
    const { missing, unreadable } = await checkKeys({ kms: keys, em });
    screen.print(`${provider} ${provider === 'local' ? 'keyring' : 'KMS key'} ${location}`);
    const rows = known.map(({ id, state, created_at }) => [
      id,
      state,
      created_at?.toISOString().slice(0, 10) ?? '',
      String(counts.get(id) ?? 0),
    ]);
    const lost = missing
      .filter((id) => !known.some((key) => key.id === id))
      .map((id) => [id, 'missing', '', String(counts.get(id) ?? 0)]);
    for (const line of table([['KEY', 'STATE', 'CREATED', 'DATA KEYS'], ...rows, ...lost])) screen.print(line);
    if (unreadable.length > 0)
      screen.note(`The secrets of ${unreadable.length} organisation(s) cannot be read: ${unreadable[0]?.fault}`);
  },
};
