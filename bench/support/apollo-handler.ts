/**
 * What GraphQL itself costs: Apollo's own server with the same types, whose data is there already and whose fields are plain properties.
 * Its parent sends the schema as text and the root value; it answers with the port.
 */
import { once } from 'node:events';
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';

const [{ types, rootValue }] = (await once(process, 'message')) as [{ types: string; rootValue: object }];
const server = new ApolloServer({ typeDefs: types, rootValue, stopOnTerminationSignals: false });
const { url } = await startStandaloneServer(server, { listen: { host: '127.0.0.1', port: 0 } });
process.send?.(Number(new URL(url).port));
process.once('disconnect', () => process.exit(0));
