"""A Django application in one file, its rows in SQLite in memory, on a free port that it prints."""

import json
from wsgiref.simple_server import WSGIRequestHandler, make_server

import django
from django.conf import settings
from django.http import HttpResponse, JsonResponse

settings.configure(
    ALLOWED_HOSTS=["*"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    INSTALLED_APPS=[],
    LOGGING_CONFIG=None,
    REST_FRAMEWORK={"UNAUTHENTICATED_USER": None},
    ROOT_URLCONF="__main__",
    USE_TZ=False,  # SQLite keeps a time as text, which has no offset
)
django.setup()

from django.db import connection, models  # noqa: E402  (after the settings)


class Item(models.Model):
    name = models.TextField()
    created = models.DateTimeField()

    class Meta:
        app_label = "items"


with connection.schema_editor() as editor:
    editor.create_model(Item)


def create(request):
    item = Item.objects.create(**json.loads(request.body))
    return JsonResponse({"id": item.id}, status=201)


def change_or_delete(request, id):
    if request.method == "DELETE":
        Item.objects.filter(id=id).delete()
    else:
        Item.objects.filter(id=id).update(**json.loads(request.body))
    return HttpResponse(status=204)


def serve():
    from django.core.wsgi import get_wsgi_application

    class Silent(WSGIRequestHandler):
        def log_message(self, *args):
            pass

    server = make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=Silent)
    print(json.dumps({"PORT": server.server_port}), flush=True)
    server.serve_forever()
