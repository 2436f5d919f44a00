"""fastapi-pagination: CursorPage over SQLAlchemy, oldest first, its rows in SQLite in memory, on a free port that it prints."""

import json
import socket
from datetime import datetime

import uvicorn
from fastapi import FastAPI, Response
from fastapi_pagination import add_pagination
from fastapi_pagination.cursor import CursorPage
from fastapi_pagination.ext.sqlalchemy import paginate
from pydantic import BaseModel, ConfigDict
from sqlalchemy import create_engine, delete as remove, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.pool import StaticPool


class Base(DeclarativeBase):
    pass


class Item(Base):
    __tablename__ = "items"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    created: Mapped[datetime]


class ItemOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: int
    name: str


class ItemIn(BaseModel):
    name: str
    created: datetime


class ItemChange(BaseModel):
    name: str


engine = create_engine("sqlite://", connect_args={"check_same_thread": False}, poolclass=StaticPool)
Base.metadata.create_all(engine)
app = FastAPI()


@app.get("/items")
async def pages() -> CursorPage[ItemOut]:
    with Session(engine) as session:
        return paginate(session, select(Item).order_by(Item.created, Item.id))


@app.post("/items", status_code=201)
async def create(item: ItemIn):
    with Session(engine) as session:
        row = Item(name=item.name, created=item.created)
        session.add(row)
        session.commit()
        return {"id": row.id}


@app.put("/items/{id}", status_code=204)
async def change(id: int, item: ItemChange):
    with Session(engine) as session:
        session.execute(update(Item).where(Item.id == id).values(name=item.name))
        session.commit()
    return Response(status_code=204)


@app.delete("/items/{id}", status_code=204)
async def delete(id: int):
    with Session(engine) as session:
        session.execute(remove(Item).where(Item.id == id))
        session.commit()
    return Response(status_code=204)


add_pagination(app)
listener = socket.create_server(("127.0.0.1", 0))
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
print(json.dumps({"PORT": listener.getsockname()[1]}), flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_keep_alive=60)).run([listener])
