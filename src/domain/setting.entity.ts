import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/** Facts about the installation itself that must outlive a restart. */
export const Setting = defineEntity({
  name: 'Setting',
  tableName: 'setting',
  properties: { name: p.text().primary(), value: p.json<unknown>() },
});
export type Setting = InferEntity<typeof Setting>;
