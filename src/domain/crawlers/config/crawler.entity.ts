import { defineEntity, type InferEntity, JsonType, p } from '@mikro-orm/core';
import type { Platform } from '@mikro-orm/postgresql';
import { initialSettings, type StoredSettings } from './crawler.schema.ts';

/** The values by default of settings; that a value was never set is no setting. */
export function usualSettings(): Partial<StoredSettings> {
  const { start_urls_unset: _, ...usual } = initialSettings();
  return usual;
}

/** Stored settings; one that came after the row was written is as by default. */
export class SettingsType extends JsonType {
  override convertToJSValue(value: unknown, platform: Platform): unknown {
    const stored = super.convertToJSValue(value as string, platform) as object | null;
    return stored && { ...usualSettings(), ...stored };
  }
}

/** A configuration of one domain in one project. */
export const Crawler = defineEntity({
  name: 'Crawler',
  tableName: 'crawler',
  properties: {
    id: p.integer().primary().autoincrement(),
    uuid: p.uuid().unique(),
    project_id: p.integer(),
    name: p.text(),
    /** As it was sent, trimmed. */
    domain: p.text(),
    /** Host name in its normal form, and the port when it is not the scheme's own. */
    host: p.text(),
    settings: p.type(SettingsType).$type<StoredSettings>(),
    /** Sealed at `version`: headers and the authorization of the webhook; null when there is neither. */
    secrets: p.text().nullable(),
    /** Sealed: what notifications are signed with; made with the first webhook_url. */
    webhook_secret: p.text().nullable(),
    version: p.integer().default(1),
    /** When its domain was checked of late, milliseconds since 1970. */
    verification_checks: p.json<number[]>().columnType('json').nullable(),
    published_snapshot_id: p.integer().nullable(),
    created_at: p.datetime(3),
    updated_at: p.datetime(3),
    deleted_at: p.datetime(3).nullable(),
  },
});
export type Crawler = InferEntity<typeof Crawler>;
